#include "core/checkpoint/families/families.h"

#include <cstddef>
#include <utility>

#include "core/base/messages.h"
#include "core/base/token.h"

namespace banyan {

WeightSource Matrix(std::string tensor, int rows, int columns) {
  return {.tensor = std::move(tensor),
          .stored_shape = {rows, columns},
          .rows = rows,
          .columns = columns};
}

WeightSource Vector(std::string tensor, int rows) {
  return {.tensor = std::move(tensor),
          .stored_shape = {rows},
          .rows = rows,
          .columns = 1};
}

void ReadTextEnds(ConfigReader& in, Architecture& architecture) {
  const std::vector<TokenId> ends =
      in.Tokens("eos_token_id", architecture.vocab_size);
  if (!ends.empty()) architecture.end_of_text = ends;
  const std::vector<TokenId> begins =
      in.Tokens("bos_token_id", architecture.vocab_size);
  if (begins.size() > 1) in.Unexpected("bos_token_id", "one token id");
  if (!begins.empty()) architecture.begin_of_text = begins.front();
}

void ReadHead(ConfigReader& in, bool tied_by_default, HasTensor has_tensor,
              Architecture& architecture) {
  WeightSource& embedding = architecture.embedding;
  WeightSource own = embedding;
  own.tensor = "lm_head.weight";
  architecture.tied_head = in.Flag("tie_word_embeddings", tied_by_default);
  architecture.head = own;
  if (!architecture.tied_head) return;
  if (has_tensor(own.tensor))
    (has_tensor(embedding.tensor) ? architecture.tied_twin : embedding) = own;
  architecture.head = embedding;
}

void RefuseQuantized(ConfigReader& in) {
  if (!in.Has("quantization_config")) return;
  ConfigReader section = in.Section("quantization_config");
  in.Fail("quantization_config",
          absl::StrCat("quantized weights (",
                       QuotedName(section.TextOr("quant_method", "unnamed")),
                       ") are not supported; expected F32, F16 or BF16"));
}

void ReadWindows(ConfigReader& in, std::vector<LayerSources>& layers) {
  constexpr int kDefaultWindow = 4096;  // the two families' own defaults
  constexpr int kDefaultFirst = 28;
  int window = in.IsGiven("sliding_window") ? in.SizeOr("sliding_window", 0)
                                            : kDefaultWindow;
  if (!in.Flag("use_sliding_window", false)) window = 0;
  const int first = in.CountOr("max_window_layers", kDefaultFirst);
  const std::vector<std::string> types = in.Texts("layer_types");
  if (!in.Has("layer_types")) {
    for (std::size_t i = static_cast<std::size_t>(first); i < layers.size();
         ++i)
      layers[i].window = window;
    return;
  }
  if (types.size() != layers.size()) {
    in.Fail("layer_types", absl::StrCat("expected ", layers.size(),
                                        " types, found ", types.size()));
    return;
  }
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (types[i] == "full_attention") continue;
    if (types[i] != "sliding_attention") {
      in.Fail("layer_types",
              absl::StrCat("expected full_attention or sliding_attention, ",
                           "found ", QuotedName(types[i])));
      return;
    }
    if (window == 0) {
      in.Fail("layer_types",
              "sliding_attention needs use_sliding_window and sliding_window");
      return;
    }
    layers[i].window = window;
  }
}

void ReadSource(ConfigReader& in, Architecture& architecture) {
  if (in.Has("converted_from"))
    architecture.source_format = in.Section("converted_from").Text("format");
}

void ReadGrowth(ConfigReader& in, Architecture& architecture) {
  if (!in.Has("grown_from") && !in.Has("inert_layers")) return;
  if (!in.Has("grown_from"))
    in.Unexpected("grown_from", "an object, as inert_layers is given");
  if (!in.Has("inert_layers"))
    in.Unexpected("inert_layers", "a list, as grown_from is given");
  architecture.grown_from = in.Section("grown_from").Text("name");
  architecture.inert_layers =
      in.Indices("inert_layers", static_cast<int>(architecture.layers.size()));
}

namespace {

constexpr double kDefaultTheta = 10000;  // every family's, when none is given

void ReadScaling(ConfigReader& in, Rope& rope) {
  const std::string older = in.TextOr("type", "");
  const std::string kind =
      in.TextOr("rope_type", older.empty() ? "default" : older);
  if (!older.empty() && older != kind)
    in.Fail("type", absl::StrCat(QuotedName(older), " is not the rope_type, ",
                                 QuotedName(kind)));
  if (kind == "default") return;
  if (kind != "linear" && kind != "llama3") {
    in.Fail(in.Has("rope_type") ? "rope_type" : "type",
            absl::StrCat("expected default, linear or llama3, found ",
                         QuotedName(kind)));
    return;
  }
  rope.factor = in.Positive("factor");
  // Below 1 the positions would be spread, for which no model is made.
  if (rope.factor < 1) in.Unexpected("factor", "a number of at least 1");
  if (kind == "linear") {
    rope.scaling = Rope::Scaling::kLinear;
    return;
  }
  rope.scaling = Rope::Scaling::kLlama3;
  rope.low_frequency_factor = in.Positive("low_freq_factor");
  rope.high_frequency_factor = in.Positive("high_freq_factor");
  rope.original_context = in.Size("original_max_position_embeddings");
  // The blend divides by the difference.
  if (in.status().ok() &&
      rope.high_frequency_factor <= rope.low_frequency_factor)
    in.Unexpected("high_freq_factor", "more than low_freq_factor");
}

// Turning a part of each head only is another graph.
void RefusePartial(ConfigReader& in) {
  constexpr absl::string_view kKey = "partial_rotary_factor";
  if (in.PositiveOr(kKey, 1) != 1) in.Unexpected(kKey, "1");
}

}  // namespace

Rope ReadRope(ConfigReader& in) {
  Rope rope;
  rope.theta = in.PositiveOr("rope_theta", kDefaultTheta);
  RefusePartial(in);
  if (!in.Has("rope_parameters")) {
    ConfigReader scaling = in.Section("rope_scaling");
    ReadScaling(scaling, rope);
    return rope;
  }
  if (in.Has("rope_scaling"))
    in.Fail("rope_scaling", "expected either this or rope_parameters");
  ConfigReader parameters = in.Section("rope_parameters");
  if (parameters.HasObjects())
    in.Fail("rope_parameters", "expected one set for all layers");
  rope.theta = parameters.PositiveOr("rope_theta", rope.theta);
  RefusePartial(parameters);
  ReadScaling(parameters, rope);
  return rope;
}

absl::Span<const FamilyRow> FamilyCatalogue() {
  static const auto& rows = *new std::vector<FamilyRow>{
      {"llama", "Llama 1 to 3 and what is shaped like them.", ReadLlama},
      {"mistral", "Llama with a sliding window.", ReadMistral},
      {"qwen2", "Llama with biases on queries, keys and values.", ReadQwen2},
      {"qwen3", "Llama with norms over each head's queries and keys.",
       ReadQwen3},
      {"gpt2", "Learnt positions, layer norms and an ungated GELU network.",
       ReadGpt2},
  };
  return rows;
}

absl::StatusOr<Architecture> ReadArchitecture(ConfigReader& in,
                                              HasTensor has_tensor) {
  const std::string name = in.Text("model_type");
  BANYAN_RETURN_IF_ERROR(in.status());
  std::vector<absl::string_view> known;
  for (const FamilyRow& row : FamilyCatalogue()) {
    known.push_back(row.name);
    if (row.name != name) continue;
    Architecture result = row.read(in, has_tensor);
    BANYAN_RETURN_IF_ERROR(in.status());
    ReadGrowth(in, result);
    ReadSource(in, result);
    BANYAN_RETURN_IF_ERROR(in.status());
    return result;
  }
  in.Fail("model_type", UnknownName("family", Shown(name), known));
  return in.status();
}

}  // namespace banyan
