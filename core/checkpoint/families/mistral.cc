#include "core/checkpoint/families/mistral.h"

#include "core/checkpoint/architecture.h"
#include "core/checkpoint/config_reader.h"
#include "core/checkpoint/families/common.h"
#include "core/checkpoint/families/llama_kind.h"

namespace banyan {

Architecture ReadMistral(ConfigReader& in, HasTensor has_tensor) {
  // What the family has where its files say nothing; null is no window.
  constexpr int kDefaultHeads = 8;
  constexpr int kDefaultWindow = 4096;
  Architecture result = ReadLlamaKind(
      in, has_tensor, {.family = "mistral", .kv_heads = kDefaultHeads});
  const int window = in.IsGiven("sliding_window")
                         ? in.SizeOr("sliding_window", 0)
                         : kDefaultWindow;
  for (LayerSources& layer : result.layers) layer.window = window;
  return result;
}

}  // namespace banyan
