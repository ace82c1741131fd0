// Llama 1 to 3: the kind's plain form, with biases where the file asks.
#ifndef BANYAN_CORE_CHECKPOINT_FAMILIES_LLAMA_H_
#define BANYAN_CORE_CHECKPOINT_FAMILIES_LLAMA_H_

#include "core/checkpoint/architecture.h"
#include "core/checkpoint/config_reader.h"
#include "core/checkpoint/families/common.h"

namespace banyan {

// A row of the catalogue, which says what it gives.
Architecture ReadLlama(ConfigReader& in, HasTensor has_tensor);

}  // namespace banyan

#endif  // BANYAN_CORE_CHECKPOINT_FAMILIES_LLAMA_H_
