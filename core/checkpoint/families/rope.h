// Rotary positions in the forms in which a config.json gives them.
#ifndef BANYAN_CORE_CHECKPOINT_FAMILIES_ROPE_H_
#define BANYAN_CORE_CHECKPOINT_FAMILIES_ROPE_H_

#include "core/checkpoint/architecture.h"
#include "core/checkpoint/config_reader.h"

namespace banyan {

// Older files have `rope_theta` and `rope_scaling` (whose kind is under `type`
// or `rope_type`), newer ones `rope_parameters` with the theta inside. Kinds
// other than default, linear and llama3 are an error in `in` that names them.
Rope ReadRope(ConfigReader& in);

}  // namespace banyan

#endif  // BANYAN_CORE_CHECKPOINT_FAMILIES_ROPE_H_
