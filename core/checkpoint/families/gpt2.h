// GPT-2: learnt positions, layer norms with biases, an ungated GELU network,
// and weights stored [in, out], those of query, key and value as one.
#ifndef BANYAN_CORE_CHECKPOINT_FAMILIES_GPT2_H_
#define BANYAN_CORE_CHECKPOINT_FAMILIES_GPT2_H_

#include "core/checkpoint/architecture.h"
#include "core/checkpoint/config_reader.h"
#include "core/checkpoint/families/common.h"

namespace banyan {

// A row of the catalogue, which says what it gives.
Architecture ReadGpt2(ConfigReader& in, HasTensor has_tensor);

}  // namespace banyan

#endif  // BANYAN_CORE_CHECKPOINT_FAMILIES_GPT2_H_
