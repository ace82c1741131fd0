// Qwen 2 and 2.5: llama with biases on queries, keys and values, and none on
// the output, which no key says; the later layers may have a sliding window.
#ifndef BANYAN_CORE_MODEL_FAMILIES_QWEN2_H_
#define BANYAN_CORE_MODEL_FAMILIES_QWEN2_H_

#include "core/model/architecture.h"
#include "core/model/config_reader.h"
#include "core/model/families/common.h"

namespace banyan {

// A row of the catalogue, which says what it gives.
Architecture ReadQwen2(ConfigReader& in, HasTensor has_tensor);

}  // namespace banyan

#endif  // BANYAN_CORE_MODEL_FAMILIES_QWEN2_H_
