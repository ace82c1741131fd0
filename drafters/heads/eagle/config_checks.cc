#include <array>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "core/base/common.h"
#include "core/base/messages.h"
#include "core/checkpoint/architecture.h"
#include "drafters/heads/eagle/layouts.h"

namespace banyan {
namespace {

// Flags that change nothing here: of training, and of how other programs run.
constexpr std::array<absl::string_view, 17> kIdleFlags = {
    "add_cross_attention",
    "attention_bias",
    "embed_requires_grad",
    "gradient_checkpointing",
    "is_decoder",
    "is_encoder_decoder",
    "mlp_bias",
    "output_attentions",
    "output_hidden_states",
    "return_dict",
    "tie_encoder_decoder",
    "tie_word_embeddings",
    "torchscript",
    "use_aux_hidden_state",
    "use_bfloat16",
    "use_cache",
    "use_return_dict"};

// Keys that are no flags: whoever reads them says what they should be.
constexpr std::array<absl::string_view, 26> kNoFlags = {
    "architectures",
    "bos_token_id",
    "draft_vocab_size",
    kTapsKey,
    kTapsSection,
    "eos_token_id",
    "head_dim",
    "head_norm_eps",
    "hidden_act",
    "hidden_size",
    "intermediate_size",
    "max_position_embeddings",
    "model_type",
    "num_attention_heads",
    "num_hidden_layers",
    "num_key_value_heads",
    "num_mtp_layers",
    "num_nextn_predict_layers",
    "rms_norm_eps",
    "rope_parameters",
    "rope_scaling",
    "rope_theta",
    "target_coordinates",
    "target_hidden_size",
    "transformer_layer_config",
    "vocab_size"};

// Families with llama's layer, and names that heads have of their own.
constexpr std::array<absl::string_view, 12> kLayerKinds = {
    "eagle", "eagle3",    "llama", "mimo",      "mistral", "mixtral",
    "qwen2", "qwen2_moe", "qwen3", "qwen3_moe", ""};

constexpr int kAnyNumber = std::numeric_limits<int>::max();

template <typename List>
bool IsIn(const List& list, absl::string_view name) {
  for (absl::string_view one : list)
    if (one == name) return true;
  return false;
}

}  // namespace

void RefuseFlags(const ConfigReader& in, std::set<absl::string_view> known) {
  known.insert(kIdleFlags.begin(), kIdleFlags.end());
  for (const std::string& flag : in.Flags()) {
    if (known.count(flag) > 0 || IsIn(kNoFlags, flag)) continue;
    ConfigReader apart = in.Apart();
    if (apart.Flag(flag, false))  // one that is off asks for nothing
      apart.Fail(flag, absl::StrCat("nobody here knows this flag; known are ",
                                    absl::StrJoin(known, ", ")));
  }
}

void RefuseEagle3Keys(const ConfigReader& in, absl::string_view tensors,
                      int vocab_size) {
  const std::string beside =
      absl::StrCat("and the tensors beside it are those of ", tensors);
  for (const char* key : {kTapsKey, kTapsSection})
    if (in.Has(key))
      in.Apart().Fail(key, absl::StrCat("is a key of EAGLE-3, ", beside));
  ConfigReader names = in.Apart();
  for (const std::string& name : names.Texts("architectures"))
    if (absl::StrContains(name, "Eagle3"))
      names.Fail("architectures",
                 absl::StrCat(QuotedName(name), " is EAGLE-3, ", beside));
  ConfigReader logits = in.Apart();
  if (logits.SizeOr("draft_vocab_size", vocab_size) != vocab_size)
    logits.Unexpected(
        "draft_vocab_size",
        absl::StrCat("the target's vocabulary of ", vocab_size, ", for ",
                     tensors, " has a logit for each of its tokens"));
}

void RefuseOtherLayers(const ConfigReader& sizes) {
  ConfigReader in = sizes.Apart();
  const std::string kind = in.TextOr("model_type", "");
  if (!IsIn(kLayerKinds, kind))
    in.Fail("model_type",
            absl::StrCat("expected a family with llama's layer, found ",
                         QuotedName(kind)));
  // Programs that run such heads differ in whether they see a window, and in
  // whether it counts the token itself.
  constexpr absl::string_view kNoWindow =
      "and layers of such heads see all of the text here";
  if (kind == "mistral" && in.Has("sliding_window")) {
    const int window = in.SizeOr("sliding_window", kAnyNumber, kAnyNumber);
    if (window < in.SizeOr("max_position_embeddings", kAnyNumber))
      in.Fail("sliding_window",
              absl::StrCat("a window of ", window, " is shorter than ",
                           "max_position_embeddings, ", kNoWindow));
  }
  for (const std::string& type : in.Texts("layer_types"))
    if (type != "full_attention")
      in.Fail("layer_types", absl::StrCat("expected full_attention, found ",
                                          QuotedName(type), ", ", kNoWindow));
}

void CheckTapKeys(const ConfigReader& in, bool in_section) {
  ConfigReader top = in.Apart();
  ConfigReader section = in.Apart().Section(kTapsSection);
  ConfigReader& right = in_section ? section : top;
  ConfigReader& wrong = in_section ? top : section;
  for (ConfigReader* one : {&top, &section}) {
    ConfigReader apart = one->Apart();
    if (!apart.Flag("use_aux_hidden_state", true))
      apart.Unexpected("use_aux_hidden_state",
                       "true, for EAGLE-3 reads states of several layers");
  }
  if (!wrong.Has(kTapsKey)) return;
  if (!right.Has(kTapsKey))
    wrong.Fail(kTapsKey,
               absl::StrCat("expected this list ",
                            in_section ? "in eagle_config" : "at the top",
                            ", where this layout has it"));
  else if (right.Apart().Indices(kTapsKey, kAnyNumber) !=
           wrong.Apart().Indices(kTapsKey, kAnyNumber))
    wrong.Fail(kTapsKey,
               absl::StrCat("differs from the list ",
                            in_section ? "in eagle_config" : "at the top",
                            ", and only one can be right"));
}

}  // namespace banyan
