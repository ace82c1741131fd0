// The rows of a pass that goes on from what views of its sequences have
// computed. A pass of the first layers computes the rows that no view has.
#ifndef BANYAN_CORE_TRANSFORMER_VIEW_INPUT_H_
#define BANYAN_CORE_TRANSFORMER_VIEW_INPUT_H_

#include <cstddef>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/transformer/network.h"
#include "core/transformer/pass_input.h"

namespace banyan {

// The first of its sequence's layers to run for a request. Earlier layers are
// taken from the view's saved hidden states.
std::size_t StartOf(const SequenceRequest& request);

// The rows of requests whose start is the same layer, not the first.
absl::StatusOr<PassInput> InputFromViews(
    const Network& network, absl::Span<const SequenceRequest* const> requests);

}  // namespace banyan

#endif  // BANYAN_CORE_TRANSFORMER_VIEW_INPUT_H_
