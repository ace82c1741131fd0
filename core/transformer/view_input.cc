#include "core/transformer/view_input.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/status_macros.h"
#include "core/model/model.h"
#include "core/ops/backend.h"
#include "core/ops/tensor.h"
#include "core/transformer/network.h"
#include "core/transformer/pass.h"
#include "core/transformer/pass_input.h"
#include "core/transformer/sequence.h"
#include "core/transformer/workspace.h"

namespace banyan {
namespace {

// Gives the request's rows that no view has computed.
std::vector<BatchRun> RunsLeft(const SequenceRequest& request) {
  std::vector<BatchRun> runs;
  const std::vector<int>& done = request.of->done.rows;
  for (int row = 0; row < request.of->batch->size(); ++row) {
    if (done[static_cast<std::size_t>(row)] >= 0) continue;
    if (runs.empty() || runs.back().from + runs.back().rows < row)
      runs.push_back({&request, row, 0});
    ++runs.back().rows;
  }
  return runs;
}

// Copies the view's keys and values of the layers before `start` to the caches
// of the part's sequence.
absl::Status TakeKeys(const SequenceRequest& request, const PassPart& part,
                      std::size_t start) {
  Backend& backend = part.sequence->network().backend();
  const std::vector<int>& done = request.of->done.rows;
  for (std::size_t first = 0; first < done.size();) {
    std::size_t end = first;
    while (end < done.size() && done[end] >= 0) ++end;
    const std::vector<int> slots(
        done.begin() + static_cast<std::ptrdiff_t>(first),
        done.begin() + static_cast<std::ptrdiff_t>(end));
    for (std::size_t place = 0; !slots.empty() && place < start; ++place)
      BANYAN_RETURN_IF_ERROR(
          backend.MoveKv({.cache = &part.sequence->pending_cache(place),
                          .slots = slots,
                          .first_slot = part.pending_slot + part.first_pending +
                                        static_cast<int>(first),
                          .from = &request.view->pending_cache(place)}));
    first = end + 1;
  }
  return absl::OkStatus();
}

// Runs the first layers of the rows that no view has computed, and copies what
// comes out to their rows of `input`.
absl::Status RunOthers(const Network& network,
                       absl::Span<const SequenceRequest* const> requests,
                       PassInput& input) {
  std::vector<BatchRun> left;
  std::vector<int> computed_as(static_cast<std::size_t>(input.rows), -1);
  int count = 0;
  for (std::size_t i = 0; i < requests.size(); ++i)
    for (const BatchRun& run : RunsLeft(*requests[i])) {
      const int first = input.parts[i].first_row + run.from;
      for (int row = 0; row < run.rows; ++row)
        computed_as[static_cast<std::size_t>(first + row)] = count++;
      left.push_back(run);
    }
  if (left.empty()) return absl::OkStatus();
  BANYAN_ASSIGN_OR_RETURN(PassInput others,
                          InputOfRuns(network, std::move(left),
                                      {.end = input.start, .scores = false}));
  TransformerPass first(network, std::move(others));
  BANYAN_RETURN_IF_ERROR(first.RunLayers());
  input.others = first.input().workspace;  // until this pass is through
  BANYAN_ASSIGN_OR_RETURN(const Ints rows,
                          input.workspace->List(Workspace::kIds, computed_as));
  return network.backend().Copy({first.input().stream, input.stream, rows});
}

}  // namespace

std::size_t StartOf(const SequenceRequest& request) {
  if (request.view == nullptr) return 0;
  const std::size_t start = request.view->layers().size();
  const bool taps_before = absl::c_any_of(request.of->taps, [start](int tap) {
    return tap != kAfterFinalNorm && tap < static_cast<int>(start);
  });
  return taps_before ? 0 : start;
}

absl::StatusOr<PassInput> InputFromViews(
    const Network& network, absl::Span<const SequenceRequest* const> requests) {
  BANYAN_ASSIGN_OR_RETURN(
      PassInput input,
      InputOfRuns(network, WholeBatches(requests),
                  {.end = requests.front()->sequence->layers().size(),
                   .embeds = false}));
  input.start = StartOf(*requests.front());
  for (std::size_t i = 0; i < requests.size(); ++i)
    BANYAN_RETURN_IF_ERROR(TakeKeys(*requests[i], input.parts[i], input.start));
  BANYAN_RETURN_IF_ERROR(RunOthers(network, requests, input));
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const PassPart& part = input.parts[i];
    BANYAN_ASSIGN_OR_RETURN(
        const Ints rows,
        input.workspace->List(Workspace::kIds, requests[i]->of->done.rows));
    BANYAN_RETURN_IF_ERROR(network.backend().Copy(
        {requests[i]->view->kept_rows(),
         input.stream.Rows(part.first_row, part.rows), rows}));
  }
  return input;
}

}  // namespace banyan
