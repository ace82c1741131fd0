#include "core/transformer/score_batches.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "core/base/counted.h"
#include "core/base/status_macros.h"
#include "core/checkpoint/architecture.h"
#include "core/model/model.h"
#include "core/transformer/model_split.h"
#include "core/transformer/network.h"
#include "core/transformer/pass.h"
#include "core/transformer/pass_input.h"
#include "core/transformer/sequence.h"
#include "core/transformer/view_input.h"

namespace banyan {
namespace {

// A view has no hidden state after a layer that it does not run.
absl::Status CheckTaps(const TransformerSequence& sequence,
                       const std::vector<int>& taps) {
  const std::vector<RunLayer>& layers = sequence.layers();
  for (int tap : taps)
    if (tap != kAfterFinalNorm && tap != 0 &&
        std::none_of(layers.begin(), layers.end(), [tap](const RunLayer& run) {
          return run.layer + 1 == tap;
        }))
      return absl::InvalidArgumentError(absl::StrCat(
          "score: expected hidden states after 0 to ",
          sequence.network().layers(),
          " layers, the last of them run by the session, found ", tap));
  return absl::OkStatus();
}

absl::Status CheckVectors(const ScoreRequest& request,
                          const Architecture& architecture) {
  const int hidden_size = architecture.hidden_size;
  const int batch = request.batch->size();
  const bool all = request.vector_rows.empty();
  const std::size_t rows =
      all ? static_cast<std::size_t>(batch) : request.vector_rows.size();
  const std::size_t expected = rows * static_cast<std::size_t>(hidden_size);
  const bool needs_them = architecture.input.kind != VectorInput::Kind::kNone;
  int previous = -1;
  for (int row : request.vector_rows) {
    if (row <= previous || row >= batch)
      return absl::InvalidArgumentError(absl::StrCat(
          "score: expected ascending rows below ", batch,
          " to start from vectors, found ", row, " after ", previous));
    previous = row;
  }
  if ((request.vectors.empty() && !needs_them) ||
      request.vectors.size() == expected)
    return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("score: expected ", expected, " numbers to start ",
                   Counted(static_cast<int>(rows), "row"), " of ", hidden_size,
                   " from, found ", request.vectors.size()));
}

absl::StatusOr<PassInput> InputOf(
    const Network& network, absl::Span<const SequenceRequest* const> requests) {
  if (StartOf(*requests.front()) > 0) return InputFromViews(network, requests);
  return InputOfRuns(network, WholeBatches(requests),
                     {.end = requests.front()->sequence->layers().size()});
}

}  // namespace

absl::StatusOr<std::vector<std::unique_ptr<Scores>>> ScoreBatches(
    const Network& network, absl::Span<const SequenceRequest> requests) {
  std::vector<TransformerSequence*> sequences;
  for (const SequenceRequest& own : requests) {
    const ScoreRequest& request = *own.of;
    TransformerSequence* const sequence = own.sequence;
    if (std::find(sequences.begin(), sequences.end(), sequence) !=
        sequences.end())
      return absl::InvalidArgumentError("score: the same session twice");
    if (request.batch->size() == 0)
      return absl::InvalidArgumentError("score: a batch without tokens");
    BANYAN_RETURN_IF_ERROR(sequence->CheckBatch(*request.batch));
    BANYAN_RETURN_IF_ERROR(CheckTaps(*sequence, request.taps));
    BANYAN_RETURN_IF_ERROR(CheckVectors(request, network.architecture()));
    if (request.done.view != nullptr)
      BANYAN_RETURN_IF_ERROR(
          sequence->CheckDone(own.view, request.done.rows, *request.batch));
    network.split().Note(request.batch->tokens);
    network.split().Note(request.batch->parents);
    sequences.push_back(sequence);
  }
  // Sequences that run the same layers from the same one on share a pass.
  std::vector<std::unique_ptr<Scores>> scores(requests.size());
  std::vector<bool> done(requests.size(), false);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (done[i]) continue;
    std::vector<const SequenceRequest*> together;
    std::vector<std::size_t> places;
    for (std::size_t j = i; j < requests.size(); ++j) {
      if (done[j] || sequences[j]->layers() != sequences[i]->layers() ||
          StartOf(requests[j]) != StartOf(requests[i]))
        continue;
      done[j] = true;
      places.push_back(j);
      together.push_back(&requests[j]);
    }
    BANYAN_ASSIGN_OR_RETURN(PassInput input, InputOf(network, together));
    TransformerPass pass(network, std::move(input));
    BANYAN_RETURN_IF_ERROR(pass.Run());
    for (std::size_t j = 0; j < places.size(); ++j)
      scores[places[j]] = pass.ScoresOf(pass.input().parts[j]);
  }
  // Only now that nothing can fail.
  for (std::size_t i = 0; i < requests.size(); ++i)
    sequences[i]->Append(*requests[i].of->batch);
  return scores;
}

}  // namespace banyan
