// Qwen 3: llama with norms over each head's queries and keys, and heads whose
// dimensions need not add up to the hidden size.
#ifndef BANYAN_CORE_CHECKPOINT_FAMILIES_QWEN3_H_
#define BANYAN_CORE_CHECKPOINT_FAMILIES_QWEN3_H_

#include "core/checkpoint/architecture.h"
#include "core/checkpoint/config_reader.h"
#include "core/checkpoint/families/common.h"

namespace banyan {

// A row of the catalogue, which says what it gives.
Architecture ReadQwen3(ConfigReader& in, HasTensor has_tensor);

}  // namespace banyan

#endif  // BANYAN_CORE_CHECKPOINT_FAMILIES_QWEN3_H_
