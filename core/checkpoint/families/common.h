// What the families have in common: how a weight is described, and the keys
// that mean the same everywhere.
#ifndef BANYAN_CORE_CHECKPOINT_FAMILIES_COMMON_H_
#define BANYAN_CORE_CHECKPOINT_FAMILIES_COMMON_H_

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "core/checkpoint/architecture.h"
#include "core/checkpoint/config_reader.h"

namespace banyan {

// Whether the checkpoint's files have a tensor of this name.
using HasTensor = absl::FunctionRef<bool(absl::string_view name)>;

// Bounds on the numbers of layers, of heads and of a head's dimensions; with
// ConfigReader::kMaxSize no product of two sizes leaves 64 bits, and heads
// times dimensions is a size again.
inline constexpr int kMaxLayers = 1024;
inline constexpr int kMaxHeads = 1 << 12;
inline constexpr int kMaxHeadDim = 1 << 12;

// The whole of a tensor stored [rows, columns], or [rows].
WeightSource Matrix(std::string tensor, int rows, int columns);
WeightSource Vector(std::string tensor, int rows);

// The end and the beginning of a text: each key that is there replaces what
// `architecture`, whose vocab_size is known, has so far. Both config.json and
// generation_config.json hold them.
void ReadTextEnds(ConfigReader& in, Architecture& architecture);

// Reads the output head: lm_head.weight, or the embedding if the two are tied.
// If they are, either may be stored under its name; if both are, one is a copy
// of the other (Architecture::tied_twin). The embedding, by its own name, is
// known.
void ReadHead(ConfigReader& in, bool tied_by_default, HasTensor has_tensor,
              Architecture& architecture);

// Stored in a form that is not supported: an error in `in`.
void RefuseQuantized(ConfigReader& in);

// The window of each layer by `use_sliding_window`, `sliding_window`,
// `max_window_layers` and `layer_types`, as qwen2 and qwen3 have them.
void ReadWindows(ConfigReader& in, std::vector<LayerSources>& layers);

// What `banyan convert` and GGUF files leave in `converted_from`.
void ReadSource(ConfigReader& in, Architecture& architecture);

// `grown_from` and `inert_layers`, of which a file has both or neither. The
// layers are known.
void ReadGrowth(ConfigReader& in, Architecture& architecture);

}  // namespace banyan

#endif  // BANYAN_CORE_CHECKPOINT_FAMILIES_COMMON_H_
