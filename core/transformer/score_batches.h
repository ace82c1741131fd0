// ScoreBatches does what Model::Score does, for the sequences of a network.
#ifndef BANYAN_CORE_TRANSFORMER_SCORE_BATCHES_H_
#define BANYAN_CORE_TRANSFORMER_SCORE_BATCHES_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/model/model.h"
#include "core/transformer/network.h"
#include "core/transformer/pass_input.h"

namespace banyan {

// Scores a batch for each of several sequences of the network. Sequences that
// run the same layers share a pass. Where views have computed rows, it goes on
// from them, after a pass of the first layers has computed the rows that no
// view has.
absl::StatusOr<std::vector<std::unique_ptr<Scores>>> ScoreBatches(
    const Network& network, absl::Span<const SequenceRequest> requests);

}  // namespace banyan

#endif  // BANYAN_CORE_TRANSFORMER_SCORE_BATCHES_H_
