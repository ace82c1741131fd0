#include "drafters/heads/eagle/layouts.h"

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <utility>

#include "core/base/messages.h"
#include "core/checkpoint/families/families.h"
#include "core/model/model.h"
#include "drafters/head_tools.h"

namespace banyan {
namespace {

constexpr char kVerifierNorm[] = "verifier_norm.weight";

// One head's configuration being read, what stands alone apart, so that it is
// told whatever else is wrong.
class Reader {
 public:
  Reader(ConfigReader& in, HasTensor has_tensor, const EagleTarget& target)
      : in_(in), sizes_(in.Apart()), has_tensor_(has_tensor), target_(target) {}

  // The sizes are those of such a head, so the tensors' shapes are known.
  bool HasSizes() const { return sizes_.status().ok(); }

  EagleSpec Read() {
    const std::string other = OtherKind();
    if (!other.empty())
      sizes_.Fail("model_type",
                  absl::StrCat("the tensors beside it are ", other,
                               ", which nobody here reads; known are EAGLE 1 "
                               "to 3.1, and multi-token prediction in MiMo's "
                               "names and the speculators'"));
    else if (in_.Has("speculators_model_type"))
      ReadSpeculators();
    else if (HasSome("midlayer.",
                     {"self_attn.q_proj", "self_attn.k_proj",
                      "self_attn.v_proj", "self_attn.o_proj", "hidden_norm"}))
      ReadEagle3();
    else if (!MtpPrefix().empty())
      ReadMtp(sizes_, "multi-token prediction, MiMo's names", true);
    else
      ReadEagle1();
    return std::move(spec_);
  }

 private:
  // One may be missing: the others still say which layout this is.
  bool HasSome(absl::string_view prefix,
               std::initializer_list<absl::string_view> names) const {
    return std::any_of(names.begin(), names.end(), [&](absl::string_view name) {
      return has_tensor_(absl::StrCat(prefix, name, ".weight"));
    });
  }

  // What the tensors are where they are known to be of something else.
  std::string OtherKind() const {
    for (int layer = 0; layer < kMaxLayers; ++layer)
      if (has_tensor_(absl::StrCat("model.layers.", layer, ".eh_proj.weight")))
        return "multi-token prediction as of DeepSeek-V3 and GLM-4.5";
    if (has_tensor_("mtp.fc.weight"))
      return "multi-token prediction as of Qwen3-Next";
    if (has_tensor_("speculator.proj.0.weight")) return "an MLP speculator";
    return "";
  }

  Architecture& network() { return spec_.network; }
  int hidden() const { return spec_.network.hidden_size; }

  void ExpectOne(const char* count) {
    ConfigReader in = in_.Apart();
    if (in.SizeOr(count, 1) != 1) in.Unexpected(count, "1");
  }

  // The sizes, a layer for each of `prefixes`, and the embedding if the file
  // has one. False if they cannot be read. `in` is `sizes_` or a section of it.
  bool ReadNetwork(const ConfigReader& in,
                   const std::vector<std::string>& prefixes,
                   const std::string& embedding) {
    RefuseOtherLayers(in);
    LlamaKind kind = {.family = "llama"};
    const auto has = [&](absl::string_view name) {
      return has_tensor_(absl::StrCat(prefixes.front(), name));
    };
    kind.query_key_value_bias = has("self_attn.q_proj.bias");
    kind.output_bias = has("self_attn.o_proj.bias");
    kind.mlp_bias = has("mlp.down_proj.bias");
    kind.head_norms = has("self_attn.q_norm.weight");
    ConfigReader apart = in.Apart();
    network() = ReadLlamaKind(apart, has_tensor_, kind);
    if (!apart.status().ok()) return false;
    Architecture& of = network();
    if (of.vocab_size != target_.vocab_size)
      apart.Unexpected("vocab_size", absl::StrCat("the target's vocabulary of ",
                                                  target_.vocab_size));
    of.layers.clear();
    for (const std::string& prefix : prefixes)
      of.layers.push_back(LlamaLayer(of, kind, prefix));
    of.layer_prefix = "layers.";
    spec_.embedding_name = embedding;
    of.embedding = has_tensor_(embedding)
                       ? Matrix(embedding, of.vocab_size, of.hidden_size)
                       : WeightSource();
    of.final_norm = {};
    of.head = {};
    of.tied_head = false;
    of.tied_twin = {};
    of.end_of_text.clear();
    return true;
  }

  // How many numbers of the target's states are read. The network is known.
  int StateSize() {
    constexpr char kTarget[] = "target_hidden_size";
    constexpr char kRead[] = "target_coordinates";
    const int whole = sizes_.SizeOr(kTarget, hidden());
    if (whole != target_.hidden_size)
      sizes_.Fail(sizes_.Has(kTarget) ? kTarget : "hidden_size",
                  absl::StrCat("expected the target's ", target_.hidden_size,
                               ", found ", whole));
    spec_.state_size = sizes_.SizeOr(kRead, whole, whole);
    const auto lacks = [&](const char* what, absl::string_view tensor) {
      sizes_.Apart().Fail(
          "hidden_size",
          absl::StrCat(hidden(), " is not the target's ", whole, ", so its ",
                       what, " cannot be borrowed, and there is no tensor ",
                       tensor));
    };
    if (hidden() != whole && !network().embedding.present())
      lacks("embedding", spec_.embedding_name);
    if (hidden() != whole && !network().head.present())
      lacks("output matrix", "lm_head.weight");
    return spec_.state_size;
  }

  // `shift` makes a tap of a number in the file.
  void ReadTaps(ConfigReader in, int shift, const char* count) {
    const int layers = target_.layers;
    spec_.tap_shift = shift;
    spec_.taps_in_section = shift == 1;
    CheckTapKeys(in_, spec_.taps_in_section);
    if (in.Has(kTapsKey)) {
      spec_.taps = in.Indices(kTapsKey, layers + 1 - shift);
      for (int& tap : spec_.taps) tap += shift;
      spec_.tap_count = count;
      return;
    }
    spec_.taps = {2, layers / 2, layers - 3};
    spec_.tap_count = "none, so they are the published ones";
    if (spec_.taps[0] < spec_.taps[1] && spec_.taps[1] < spec_.taps[2]) return;
    in.Fail(
        kTapsKey,
        absl::StrCat("expected the layers whose states are read: the ",
                     "published ones, 2, half of the layers and 3 from the ",
                     "end, are not three of a target of ", layers));
  }

  void ReadVocabulary() {
    int logits = sizes_.Apart().SizeOr("draft_vocab_size", target_.vocab_size,
                                       target_.vocab_size);
    spec_.logits = logits;
    spec_.own_vocabulary = logits != target_.vocab_size;
    // A grown head without a matrix of its own took the target's along.
    if (in_.Has("target_coordinates") && !has_tensor_(kLogitMap))
      logits = target_.vocab_size;
    if (has_tensor_("lm_head.weight"))
      network().head = Matrix("lm_head.weight", logits, hidden());
    for (const char* table : {kLogitMap, kKept})
      if (has_tensor_(table)) network().tables.push_back(table);
  }

  // Of a head that has logits for all tokens, and whose vector is the target's
  // state as it is.
  void ReadOneState() {
    if (has_tensor_("lm_head.weight"))
      network().head = Matrix("lm_head.weight", target_.vocab_size, hidden());
    const int size = StateSize();
    if (size != hidden())
      sizes_.Fail("hidden_size",
                  absl::StrCat("expected ", size, ", for a state is read as ",
                               "it is, found ", hidden()));
  }

  void Reduce(int state_size) {
    spec_.reduce = Matrix("fc.weight", hidden(),
                          static_cast<int>(spec_.taps.size()) * state_size);
    network().others.push_back(spec_.reduce);
  }

  // The first layer reads embedding and vector side by side.
  void ReadBeside() {
    Architecture& of = network();
    LayerSources& layer = of.layers.front();
    of.input.kind = VectorInput::Kind::kBeside;
    of.input.token_norm = std::exchange(layer.attention_norm, {});
    of.input.vector_norm = of.input.token_norm;
    std::string& name = of.input.vector_norm.tensor;
    name.replace(name.find("input_layernorm"), 15, "hidden_norm");
    for (WeightSource* source : {&layer.query, &layer.key, &layer.value}) {
      source->columns *= 2;
      source->stored_shape.back() *= 2;
    }
  }

  // The taps are known. `normed`: there is a norm before the output matrix.
  bool ReadEagle3Network(const ConfigReader& in, bool normed,
                         const std::vector<std::string>& prefixes) {
    if (!ReadNetwork(in, prefixes, "embed_tokens.weight")) return false;
    ReadVocabulary();
    Reduce(StateSize());
    ReadBeside();
    if (normed) network().final_norm = Vector("norm.weight", hidden());
    return true;
  }

  void ReadEagle1() {
    spec_.layout = "EAGLE-1 as published";
    RefuseFlags(in_, {"bias"});
    RefuseEagle3Keys(in_, "EAGLE-1", target_.vocab_size);
    ExpectOne("num_hidden_layers");
    if (!ReadNetwork(sizes_, {"layers.0."}, "embed_tokens.weight")) return;
    ReadOneState();
    Architecture& of = network();
    of.layers.front().attention_norm = {};
    of.input.kind = VectorInput::Kind::kFused;
    of.input.fuse = Matrix("fc.weight", hidden(), 2 * hidden());
    if (in_.Flag("bias", true))
      of.input.fuse_bias = Vector("fc.bias", hidden());
    spec_.taps = {kAfterFinalNorm};
    spec_.tap_count = "after the final norm";
    spec_.feeds_back_normed = true;
  }

  void ReadEagle3() {
    spec_.layout = "EAGLE-3 with the names of SafeAILab, SpecForge and SGLang";
    RefuseFlags(in_, {"norm_output"});
    ExpectOne("num_hidden_layers");
    ConfigReader taps = in_.Apart().Section(kTapsSection);
    RefuseFlags(taps, {});
    ReadTaps(taps, 1, "the layer that they leave");
    const bool normed = in_.Apart().Flag("norm_output", true);
    if (!ReadEagle3Network(sizes_, normed, {"midlayer."})) return;
    network().layer_prefix = "midlayer.";
  }

  void ReadSpeculators() {
    const std::string type = in_.Text("speculators_model_type");
    spec_.sizes_section = "transformer_layer_config";
    ConfigReader layers = sizes_.Section(spec_.sizes_section);
    if (type == "mtp")
      return ReadMtp(layers, "multi-token prediction, vLLM's speculators",
                     false);
    if (type != "eagle3") {
      in_.Unexpected("speculators_model_type", "\"eagle3\" or \"mtp\"");
      return;
    }
    spec_.layout = "EAGLE-3, vLLM's speculators";
    RefuseFlags(in_, {"norm_before_residual", "norm_before_fc", "fc_norm",
                      "norm_output"});
    RefuseFlags(in_.Apart().Section(spec_.sizes_section), {});
    std::vector<std::string> prefixes;
    for (int i = 0; i < layers.SizeOr("num_hidden_layers", 1, kMaxLayers); ++i)
      prefixes.push_back(absl::StrCat("layers.", i, "."));
    ReadTaps(in_.Apart(), 0, "the layer that they enter");
    const auto flag = [&](const char* key) {
      return in_.Apart().Flag(key, false);
    };
    const bool each = flag("fc_norm");
    const bool joint = flag("norm_before_fc");
    if (each && joint)
      in_.Fail("fc_norm", "norm_before_fc is set too, and only one can be");
    if (!ReadEagle3Network(layers, true, prefixes)) return;
    network().input.starts_normed = flag("norm_before_residual");
    spec_.feeds_back_normed = flag("norm_output");
    for (std::size_t i = 0; each && i < spec_.taps.size(); ++i)
      spec_.state_norms.push_back(
          Vector(absl::StrCat("fc_norm.", i, ".weight"), spec_.state_size));
    if (joint)
      spec_.joint_norm = Vector("input_norm.weight", spec_.reduce.columns);
    for (const WeightSource& norm : spec_.state_norms)
      network().others.push_back(norm);
    if (joint) network().others.push_back(spec_.joint_norm);
    // The target's final norm, which its training kept beside it.
    if (has_tensor_(kVerifierNorm)) network().tables.push_back(kVerifierNorm);
  }

  std::string MtpPrefix() const {
    for (const char* prefix : {"model.mtp_layers.0.", "mtp_layers.0."})
      if (HasSome(prefix,
                  {"input_proj", "token_layernorm", "hidden_layernorm"}))
        return prefix;
    return "";
  }

  // MiMo's puts the vector first, and has no embedding for the first pair.
  void ReadMtp(const ConfigReader& in, const char* layout, bool mimo) {
    const std::string prefix = MtpPrefix();
    if (prefix.empty()) {
      in_.Fail("speculators_model_type", "expected tensors mtp_layers.0.*");
      return;
    }
    spec_.layout = layout;
    RefuseFlags(in_, {});
    RefuseEagle3Keys(in_, "multi-token prediction", target_.vocab_size);
    for (const char* count : {"num_nextn_predict_layers", "num_mtp_layers"})
      ExpectOne(count);
    if (!ReadNetwork(in, {prefix}, "model.embed_tokens.weight")) return;
    ReadOneState();
    Architecture& of = network();
    of.layer_prefix = prefix.substr(0, prefix.size() - 2);
    of.input = {.kind = VectorInput::Kind::kFused,
                .fuse = Matrix(absl::StrCat(prefix, "input_proj.weight"),
                               hidden(), 2 * hidden()),
                .fuse_bias = {},
                .token_norm = Vector(
                    absl::StrCat(prefix, "token_layernorm.weight"), hidden()),
                .vector_norm = Vector(
                    absl::StrCat(prefix, "hidden_layernorm.weight"), hidden()),
                .vector_first = mimo,
                .hides_first_token = mimo};
    of.final_norm =
        Vector(absl::StrCat(prefix, "final_layernorm.weight"), hidden());
    spec_.taps = {kAfterFinalNorm};
    spec_.tap_count = "after the final norm";
    spec_.feeds_back_normed = true;
  }

  ConfigReader& in_;
  ConfigReader sizes_;
  HasTensor has_tensor_;
  const EagleTarget& target_;
  EagleSpec spec_;
};

}  // namespace

absl::StatusOr<EagleFile> OpenEagleFile(const std::string& directory,
                                        const EagleTarget& target) {
  return OpenEagleFile(directory, target, [](EagleSpec& /*spec*/) {});
}

absl::StatusOr<EagleFile> OpenEagleFile(const std::string& directory,
                                        const EagleTarget& target,
                                        TurnEagle turn) {
  EagleFile file;
  Errors errors;
  const auto read = [&](ConfigReader& in,
                        HasTensor has_tensor) -> absl::StatusOr<Architecture> {
    Reader reader(in, has_tensor, target);
    file.spec = reader.Read();
    errors.Add(in.status());
    if (!reader.HasSizes() || file.spec.network.layers.empty())
      return in.status();
    if (errors.empty()) turn(file.spec);
    file.spec.network.refuses_others = true;
    return file.spec.network;
  };
  absl::StatusOr<std::unique_ptr<Checkpoint>> checkpoint =
      Checkpoint::Open(directory, read);
  const std::string pickle = absl::IsNotFound(checkpoint.status())
                                 ? PickleIn(directory)
                                 : std::string();
  errors.Add(pickle.empty()
                 ? checkpoint.status()
                 : absl::NotFoundError(absl::StrCat(
                       checkpoint.status().message(), "; found ", pickle)));
  if (checkpoint.ok()) {
    absl::StatusOr<std::vector<TokenId>> tokens =
        ReadTokens(**checkpoint, target, file.spec);
    errors.Add(tokens.status());
    if (tokens.ok()) file.token_of = *std::move(tokens);
    file.checkpoint = *std::move(checkpoint);
  }
  BANYAN_RETURN_IF_ERROR(errors.status());
  return file;
}

}  // namespace banyan
