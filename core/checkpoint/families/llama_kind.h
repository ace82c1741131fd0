// The decoder that llama brought and most families share: root mean square
// norms before attention and before a gated SiLU network, rotary positions,
// fewer heads for keys and values than for queries, no learnt positions.
#ifndef BANYAN_CORE_CHECKPOINT_FAMILIES_LLAMA_KIND_H_
#define BANYAN_CORE_CHECKPOINT_FAMILIES_LLAMA_KIND_H_

#include <string>

#include "absl/strings/string_view.h"
#include "core/checkpoint/architecture.h"
#include "core/checkpoint/config_reader.h"
#include "core/checkpoint/families/common.h"

namespace banyan {

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

}  // namespace banyan

#endif  // BANYAN_CORE_CHECKPOINT_FAMILIES_LLAMA_KIND_H_
