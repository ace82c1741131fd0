// The model families: the catalogue of their readers, and what the readers
// share.
#ifndef BANYAN_CORE_CHECKPOINT_FAMILIES_FAMILIES_H_
#define BANYAN_CORE_CHECKPOINT_FAMILIES_FAMILIES_H_

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "core/base/common.h"
#include "core/checkpoint/architecture.h"

namespace banyan {

// What the families have in common: how a weight is described, and the keys
// that mean the same everywhere.

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

// The model families, by the name that config.json has under `model_type`.
struct FamilyRow {
  absl::string_view name;
  absl::string_view sentence;
  // Reads config.json. Errors are noted in `in`; without one the result is
  // complete, every size is from 1 to ConfigReader::kMaxSize, and every weight
  // is described. Which tensors there are decides only between spellings of
  // their names, and whether a tied pair is stored once or twice.
  Architecture (*read)(ConfigReader& in, HasTensor has_tensor);
};

absl::Span<const FamilyRow> FamilyCatalogue();

// Returns what the config.json in `in` describes, by the family that its
// model_type names. Ignores `dtype` and `torch_dtype`: each tensor has a type
// of its own.
absl::StatusOr<Architecture> ReadArchitecture(ConfigReader& in,
                                              HasTensor has_tensor);

// Rotary positions in the forms in which a config.json gives them.

// Older files have `rope_theta` and `rope_scaling` (whose kind is under `type`
// or `rope_type`), newer ones `rope_parameters` with the theta inside. Kinds
// other than default, linear and llama3 are an error in `in` that names them.
Rope ReadRope(ConfigReader& in);

// The decoder that llama brought and most families share: root mean square
// norms before attention and before a gated SiLU network, rotary positions,
// fewer heads for keys and values than for queries, no learnt positions.

// Where the families of this kind differ.
struct LlamaKind {
  absl::string_view family;
  int kv_heads = 0;  // if the file has no key for it; 0: as many as heads
  int head_dim = 0;  // likewise; 0: hidden_size / heads
  bool query_key_value_bias = false;
  bool output_bias = false;
  bool mlp_bias = false;
  bool head_norms = false;  // of queries and keys
};

// What follows the prefix in the names of a layer's tensors; the sizes are
// known.
LayerSources LlamaLayer(const Architecture& of, const LlamaKind& kind,
                        const std::string& prefix);

// Every layer sees all positions. Errors are noted in `in`; the result is
// complete only without one.
Architecture ReadLlamaKind(ConfigReader& in, HasTensor has_tensor,
                           const LlamaKind& kind);

// Llama 1 to 3: the kind's plain form, with biases where the file asks.
Architecture ReadLlama(ConfigReader& in, HasTensor has_tensor);

// Mistral: llama with one sliding window for all layers.
Architecture ReadMistral(ConfigReader& in, HasTensor has_tensor);

// Qwen 2 and 2.5: llama with biases on queries, keys and values, and none on
// the output, which no key says; the later layers may have a sliding window.
Architecture ReadQwen2(ConfigReader& in, HasTensor has_tensor);

// Qwen 3: llama with norms over each head's queries and keys, and heads whose
// dimensions need not add up to the hidden size.
Architecture ReadQwen3(ConfigReader& in, HasTensor has_tensor);

// GPT-2: learnt positions, layer norms with biases, an ungated GELU network,
// and weights stored [in, out], those of query, key and value as one.
Architecture ReadGpt2(ConfigReader& in, HasTensor has_tensor);

}  // namespace banyan

#endif  // BANYAN_CORE_CHECKPOINT_FAMILIES_FAMILIES_H_
