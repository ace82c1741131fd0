#include "core/checkpoint/families/common.h"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/quoted_name.h"
#include "core/base/token.h"
#include "core/checkpoint/architecture.h"
#include "core/checkpoint/config_reader.h"

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

}  // namespace banyan
