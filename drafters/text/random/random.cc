#include "drafters/text/random/random.h"

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/params.h"
#include "core/base/status_macros.h"
#include "core/prob/distribution.h"
#include "drafters/drafter.h"
#include "drafters/row.h"
#include "drafters/workbench.h"
#include "tree/draft_tree.h"
#include "tree/trunk_tree.h"

namespace banyan {

Random::Random(int vocab_size)
    : Drafter({.draw_kinds = EveryDrawKind(), .proposes_ahead = true},
              /*carried=*/nullptr),
      uniform_(Distribution::Dense(std::vector<double>(
          static_cast<std::size_t>(vocab_size), 1.0 / vocab_size))) {}

absl::StatusOr<std::vector<Proposals>> Random::Propose(
    absl::Span<const DraftRequest> requests) {
  std::vector<Proposals> all;
  for (const DraftRequest& request : requests)
    all.emplace_back(request.nodes.size(), Proposal{uniform_});
  return all;
}

namespace {

BuiltDrafter Build(ParamsReader& in, Workbench& bench) {
  BANYAN_RETURN_IF_ERROR(in.Finish());
  return std::make_unique<Random>(bench.target().vocab_size());
}

}  // namespace

DrafterRow RandomRow() {
  return {.name = "random",
          .sentence = "Uniformly random tokens, as a control.",
          .draw_kinds = EveryDrawKind(),
          .build = Build,
          .examples = {"{}"}};
}

}  // namespace banyan
