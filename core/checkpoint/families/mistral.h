// Mistral: llama with one sliding window for all layers.
#ifndef BANYAN_CORE_CHECKPOINT_FAMILIES_MISTRAL_H_
#define BANYAN_CORE_CHECKPOINT_FAMILIES_MISTRAL_H_

#include "core/checkpoint/architecture.h"
#include "core/checkpoint/config_reader.h"
#include "core/checkpoint/families/common.h"

namespace banyan {

// A row of the catalogue, which says what it gives.
Architecture ReadMistral(ConfigReader& in, HasTensor has_tensor);

}  // namespace banyan

#endif  // BANYAN_CORE_CHECKPOINT_FAMILIES_MISTRAL_H_
