// Qwen 2 and 2.5: llama with biases on queries, keys and values, and none on
// the output, which no key says; the later layers may have a sliding window.
#ifndef BANYAN_CORE_CHECKPOINT_FAMILIES_QWEN2_H_
#define BANYAN_CORE_CHECKPOINT_FAMILIES_QWEN2_H_

#include "core/checkpoint/architecture.h"
#include "core/checkpoint/config_reader.h"
#include "core/checkpoint/families/common.h"

namespace banyan {

// A row of the catalogue, which says what it gives.
Architecture ReadQwen2(ConfigReader& in, HasTensor has_tensor);

}  // namespace banyan

#endif  // BANYAN_CORE_CHECKPOINT_FAMILIES_QWEN2_H_
