#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <numbers>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/strip.h"
#include "core/base/common.h"
#include "core/base/messages.h"
#include "core/base/number_rows.h"
#include "core/gguf/gguf_file.h"
#include "core/gguf/gguf_keys.h"
#include "core/gguf/model_text.h"
#include "core/json/json_value.h"

namespace banyan {
namespace {

constexpr char kEmbedding[] = "token_embd.weight";
constexpr char kHead[] = "output.weight";
constexpr char kHeadSize[] = "the size of a head";

struct KeyName {
  absl::string_view in_file;
  absl::string_view in_family;
};

struct Family {
  absl::string_view name;  // of the architecture and of the model_type
  absl::string_view class_name;
  bool pairs_rows;  // of queries and keys
  absl::string_view layer;
  std::vector<KeyName> whole;      // outside the layers
  std::vector<KeyName> in_layers;  // without `.weight` or `.bias`
  bool turns = false;              // its matrices' columns are rows
};

const std::vector<Family>& Families() {
  static const auto& families = *new std::vector<Family>([] {
    const std::vector<KeyName> whole = {
        {kEmbedding, "model.embed_tokens.weight"},
        {"output_norm.weight", "model.norm.weight"},
        {kHead, "lm_head.weight"}};
    const std::vector<KeyName> layers = {
        {"attn_norm", "input_layernorm"},
        {"attn_q", "self_attn.q_proj"},
        {"attn_k", "self_attn.k_proj"},
        {"attn_v", "self_attn.v_proj"},
        {"attn_output", "self_attn.o_proj"},
        {"attn_q_norm", "self_attn.q_norm"},
        {"attn_k_norm", "self_attn.k_norm"},
        {"ffn_norm", "post_attention_layernorm"},
        {"ffn_gate", "mlp.gate_proj"},
        {"ffn_up", "mlp.up_proj"},
        {"ffn_down", "mlp.down_proj"}};
    const absl::string_view layer = "model.layers.";
    return std::vector<Family>{
        {"llama", "LlamaForCausalLM", true, layer, whole, layers},
        {"qwen2", "Qwen2ForCausalLM", false, layer, whole, layers},
        {"qwen3", "Qwen3ForCausalLM", false, layer, whole, layers},
        {"gpt2",
         "GPT2LMHeadModel",
         false,
         "transformer.h.",
         {{kEmbedding, "transformer.wte.weight"},
          {"position_embd.weight", "transformer.wpe.weight"},
          {"output_norm.weight", "transformer.ln_f.weight"},
          {"output_norm.bias", "transformer.ln_f.bias"},
          {kHead, "lm_head.weight"}},
         {{"attn_norm", "ln_1"},
          {"attn_qkv", "attn.c_attn"},
          {"attn_output", "attn.c_proj"},
          {"ffn_norm", "ln_2"},
          {"ffn_up", "mlp.c_fc"},
          {"ffn_down", "mlp.c_proj"}},
         /*turns=*/true}};
  }());
  return families;
}

// Null if nothing here reads the architecture.
const Family* FamilyOf(const Gguf& contents) {
  const auto found = contents.keys.find("general.architecture");
  if (found == contents.keys.end()) return nullptr;
  const auto* name = std::get_if<absl::string_view>(&found->second);
  for (const Family& family : Families())
    if (name != nullptr && family.name == *name) return &family;
  return nullptr;
}

// Reads the keys of one architecture: "llama.block_count".
class ConfigMaker {
 public:
  ConfigMaker(const Gguf& contents, const Family& family,
              const std::string& file)
      : family_(family), in_(contents, file) {}

  absl::StatusOr<JsonValue> Make() {
    out_["architectures"] =
        std::vector<std::string>{std::string(family_.class_name)};
    out_["model_type"] = family_.name;
    CheckNames();
    ReadVocabulary();
    if (in_.CountOr(Key("expert_count"), 0) > 0)
      in_.Fail(Key("expert_count"), "mixtures of experts are not read");
    if (family_.turns)
      ReadGpt2();
    else
      ReadLlama();
    ReadEnds();
    out_["converted_from"] = {{"name", in_.TextOr("general.name", "")},
                              {"format", Format()}};
    BANYAN_RETURN_IF_ERROR(in_.status());
    return std::move(out_);
  }

 private:
  std::string Key(absl::string_view name) const {
    return absl::StrCat(family_.name, ".", name);
  }
  std::int64_t Size(absl::string_view name) { return in_.Count(Key(name)); }
  const GgufTensor* Tensor(absl::string_view name) const {
    const auto found = in_.contents().tensors.find(name);
    return found == in_.contents().tensors.end() ? nullptr : &found->second;
  }

  // Refuses the first name that the family does not have: nothing says in what
  // order the rows of such a tensor are.
  void CheckNames() {
    for (const auto& [name, tensor] : in_.contents().tensors)
      if (name != kRopeFactors && PlaceOf(in_.contents(), name).name == name)
        return in_.Fail(absl::StrCat("tensor ", QuotedName(name)),
                        absl::StrCat("the architecture ", family_.name,
                                     " has none of this name"));
  }

  void ReadVocabulary() {
    const GgufTensor* embedding = Tensor(kEmbedding);
    out_["tie_word_embeddings"] = Tensor(kHead) == nullptr;
    if (embedding == nullptr || embedding->shape.size() != 2) {
      in_.Fail("tensors", absl::StrCat("expected a matrix '", kEmbedding, "'"));
      return;
    }
    const std::int64_t rows = embedding->shape.front();
    out_["vocab_size"] = rows;
    CheckSame("vocab_size", rows,
              absl::StrCat("the rows of '", kEmbedding, "'"));
  }

  // Fails unless the key is absent or has the value `expected`. `what`
  // describes that value in the error.
  void CheckSame(absl::string_view name, std::int64_t expected,
                 absl::string_view what) {
    if (in_.CountOr(Key(name), expected) != expected)
      in_.Unexpected(Key(name), absl::StrCat(what, ", ", expected));
  }

  void ReadGpt2() {
    const std::int64_t hidden = Size("embedding_length");
    const std::int64_t heads = Size("attention.head_count");
    const std::int64_t head = heads > 0 ? hidden / heads : 0;
    const std::int64_t context = Size("context_length");
    out_["n_embd"] = hidden;
    out_["n_layer"] = Size("block_count");
    out_["n_head"] = heads;
    out_["n_inner"] = Size("feed_forward_length");
    out_["n_positions"] = context;
    out_["layer_norm_epsilon"] = in_.Real(Key("attention.layer_norm_epsilon"));
    out_["activation_function"] = "gelu_new";
    CheckSame("attention.head_count_kv", heads, "as many as heads");
    for (const char* same : {"attention.key_length", "attention.value_length"})
      CheckSame(same, head, kHeadSize);
    RefuseUnreadKeys(family_.name, head, context, in_);
  }

  void ReadLlama() {
    const std::int64_t hidden = Size("embedding_length");
    const std::int64_t heads = Size("attention.head_count");
    const std::int64_t head = in_.CountOr(Key("attention.key_length"),
                                          heads > 0 ? hidden / heads : 0);
    const std::int64_t context = Size("context_length");
    for (const char* same : {"attention.value_length", "rope.dimension_count"})
      CheckSame(same, head, kHeadSize);
    out_["hidden_size"] = hidden;
    out_["intermediate_size"] = Size("feed_forward_length");
    out_["num_hidden_layers"] = Size("block_count");
    out_["num_attention_heads"] = heads;
    out_["num_key_value_heads"] =
        in_.CountOr(Key("attention.head_count_kv"), heads);
    out_["head_dim"] = head;
    out_["max_position_embeddings"] = context;
    out_["rms_norm_eps"] = in_.Real(Key("attention.layer_norm_rms_epsilon"));
    out_["hidden_act"] = "silu";
    out_["rope_theta"] = in_.RealOr(Key("rope.freq_base"), 10000);
    if (family_.name != "qwen2")
      out_["attention_bias"] = Tensor("blk.0.attn_q.bias") != nullptr;
    if (family_.name == "llama")
      out_["mlp_bias"] = Tensor("blk.0.ffn_up.bias") != nullptr;
    ReadScaling(head);
    RefuseUnreadKeys(family_.name, head, context, in_);
  }

  // As in llama.cpp, a factor without a type means linear scaling, 0 means
  // none, and rope.scale_linear is an older name of the factor.
  void ReadScaling(std::int64_t head) {
    const std::string type = Key("rope.scaling.type");
    const std::string kind = in_.TextOr(type, "linear");
    if (kind != "linear" && kind != "none")
      in_.Unexpected(type, "none or linear");
    std::string key = Key("rope.scaling.factor");
    if (const std::string older = Key("rope.scale_linear");
        !in_.Has(key) && in_.Has(older))
      key = older;
    const bool has_factors = Tensor(kRopeFactors) != nullptr;
    if (has_factors) ReadFactors(head);
    if (kind != "linear" || (!in_.Has(type) && !in_.Has(key))) return;
    const double factor = in_.Real(key);
    if (factor == 0 || factor == 1) return;
    if (factor < 1) in_.Unexpected(key, "0 or a number from 1 on");
    if (has_factors)
      in_.Unexpected(key, absl::StrCat("0 or 1 beside '", kRopeFactors, "'"));
    out_["rope_scaling"] = {{"rope_type", "linear"}, {"factor", factor}};
  }

  // Llama 3.1 and later: a factor for each frequency, which was made of four
  // numbers. Three of them are the same in every published model; the fourth is
  // the largest factor.
  void ReadFactors(std::int64_t head) {
    constexpr double kLow = 1;
    constexpr double kHigh = 4;
    constexpr double kOriginal = 8192;
    constexpr double kTolerance = 1e-5;
    const GgufTensor& tensor = *Tensor(kRopeFactors);
    const auto half = static_cast<std::size_t>(head / 2);
    const auto refuse = [this] {
      in_.Fail(kRopeFactors,
               "expected the factors of Llama 3.1 in F32, one for each two "
               "numbers of a head, found others");
    };
    if (tensor.dtype != DType::kF32 ||
        tensor.data.size() != half * sizeof(float) || half == 0)
      return refuse();
    std::vector<float> factors(half);
    std::memcpy(factors.data(), tensor.data.data(), tensor.data.size());
    const double largest = *std::max_element(factors.begin(), factors.end());
    const double theta = in_.RealOr(Key("rope.freq_base"), 10000);
    for (std::size_t i = 0; i < half; ++i) {
      const double wave = 2 * std::numbers::pi *
                          std::pow(theta, 2.0 * static_cast<double>(i) /
                                              static_cast<double>(head));
      const double smooth =
          std::clamp((kOriginal / wave - kLow) / (kHigh - kLow), 0.0, 1.0);
      const double expected = 1 / ((1 - smooth) / largest + smooth);
      if (!(std::abs(factors[i] - expected) <= kTolerance * expected))
        return refuse();
    }
    out_["rope_scaling"] = {{"rope_type", "llama3"},
                            {"factor", largest},
                            {"low_freq_factor", kLow},
                            {"high_freq_factor", kHigh},
                            {"original_max_position_embeddings",
                             static_cast<std::int64_t>(kOriginal)}};
  }

  // The types of the matrices, the one of most bytes first.
  std::string Format() const {
    std::map<absl::string_view, std::size_t> bytes;
    for (const auto& [name, tensor] : in_.contents().tensors)
      if (tensor.shape.size() > 1)
        bytes[DTypeName(tensor.dtype)] += tensor.data.size();
    std::vector<std::pair<std::size_t, absl::string_view>> types;
    for (const auto& [type, size] : bytes) types.emplace_back(size, type);
    std::sort(types.rbegin(), types.rend());
    std::string format = "GGUF";
    for (const auto& [size, type] : types)
      absl::StrAppend(&format, format == "GGUF" ? " " : ", ", type);
    return format;
  }

  void ReadEnds() {
    if (in_.Has("tokenizer.ggml.bos_token_id"))
      out_["bos_token_id"] = in_.Count("tokenizer.ggml.bos_token_id");
    std::vector<std::int64_t> ends;
    for (const char* key :
         {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id"}) {
      if (!in_.Has(key)) continue;
      const std::int64_t end = in_.Count(key);
      if (std::find(ends.begin(), ends.end(), end) == ends.end())
        ends.push_back(end);
    }
    if (!ends.empty()) out_["eos_token_id"] = ends;
  }

  const Family& family_;
  GgufKeys in_;
  JsonValue out_ = JsonValue::Object();
};

}  // namespace

absl::StatusOr<JsonValue> GgufConfig(const Gguf& contents,
                                     const std::string& file) {
  GgufKeys in(contents, file);
  if (in.TextOr("general.type", "model") != "model")
    in.Unexpected("general.type", "'model'");
  BANYAN_RETURN_IF_ERROR(in.status());
  if (const Family* family = FamilyOf(contents); family != nullptr)
    return ConfigMaker(contents, *family, file).Make();
  const std::string name = in.Text("general.architecture");
  BANYAN_RETURN_IF_ERROR(in.status());
  std::vector<absl::string_view> known;
  for (const Family& family : Families()) known.push_back(family.name);
  in.Fail("general.architecture",
          UnknownName("architecture", Shown(name), known));
  return in.status();
}

GgufPlace PlaceOf(const Gguf& contents, absl::string_view tensor) {
  const Family* family = FamilyOf(contents);
  GgufPlace place = {.name = std::string(tensor)};
  if (family == nullptr) return place;
  for (const KeyName& name : family->whole)
    if (name.in_file == tensor) place.name = std::string(name.in_family);
  absl::string_view rest = tensor;
  if (!absl::ConsumePrefix(&rest, "blk.")) return place;
  const auto number = rest.substr(0, rest.find('.'));
  const auto ending = rest.substr(std::min(rest.size(), rest.rfind('.')));
  if (number.size() + 1 + ending.size() > rest.size()) return place;
  const absl::string_view part = rest.substr(
      number.size() + 1, rest.size() - number.size() - 1 - ending.size());
  for (const KeyName& name : family->in_layers) {
    if (name.in_file != part) continue;
    place.name =
        absl::StrCat(family->layer, number, ".", name.in_family, ending);
    place.turned = family->turns && ending == ".weight" &&
                   part != "attn_norm" && part != "ffn_norm";
    if (family->pairs_rows && (part == "attn_q" || part == "attn_k")) {
      const auto key = [&](absl::string_view of) {
        const auto found =
            contents.keys.find(absl::StrCat(family->name, ".", of));
        const auto* size = found == contents.keys.end()
                               ? nullptr
                               : std::get_if<std::int64_t>(&found->second);
        return size == nullptr ? 0 : *size;
      };
      const std::int64_t given = key("attention.key_length");
      const std::int64_t heads = key("attention.head_count");
      place.paired_rows =
          static_cast<int>(given > 0   ? given
                           : heads > 0 ? key("embedding_length") / heads
                                       : 0);
    }
  }
  return place;
}

}  // namespace banyan
