// A backend for looking at models without reading their weights: matrices are
// taken by their sizes, and whatever would compute fails.
#ifndef BANYAN_CORE_OPS_OUTLINE_H_
#define BANYAN_CORE_OPS_OUTLINE_H_

#include <cstddef>
#include <memory>

#include "core/ops/backend.h"

namespace banyan {

// Says of itself what `device` does, whose limits and room are its. Packed
// weights ask for no rows. FailedPrecondition for every operation that gives
// numbers. `in_memory`, if there is one, outlives the backend and gets the
// bytes of all weights that would be in memory.
std::shared_ptr<Backend> OutlineOf(std::shared_ptr<Backend> device,
                                   std::size_t* in_memory = nullptr);

}  // namespace banyan

#endif  // BANYAN_CORE_OPS_OUTLINE_H_
