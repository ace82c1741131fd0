// The steps of a round in plain loops, on this machine's memory.
#ifndef BANYAN_CORE_OPS_HOST_PLAIN_ROUND_H_
#define BANYAN_CORE_OPS_HOST_PLAIN_ROUND_H_

#include "core/base/common.h"
#include "core/ops/backend.h"
#include "core/ops/round_args.h"

namespace banyan::host {

// `backend` moves keys and values.
absl::Status RunStep(const RoundMemory& memory, const RoundStep& step,
                     Backend& backend);

}  // namespace banyan::host

#endif  // BANYAN_CORE_OPS_HOST_PLAIN_ROUND_H_
