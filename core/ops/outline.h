// A backend for looking at models without reading their weights: matrices are
// taken by their sizes, and whatever would compute fails.
#ifndef BANYAN_CORE_OPS_OUTLINE_H_
#define BANYAN_CORE_OPS_OUTLINE_H_

#include <memory>

#include "core/ops/backend.h"

namespace banyan {

// Says of itself what `device` does, whose limits and room are its. Packed
// weights ask for no rows. FailedPrecondition for every operation that gives
// numbers.
std::shared_ptr<Backend> OutlineOf(std::shared_ptr<Backend> device);

}  // namespace banyan

#endif  // BANYAN_CORE_OPS_OUTLINE_H_
