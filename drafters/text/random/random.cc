#include "drafters/text/random/random.h"

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/params.h"
#include "core/base/status_macros.h"
#include "core/model/context.h"
#include "core/prob/distribution.h"
#include "drafters/drafter.h"
#include "drafters/workbench.h"
#include "tree/draft_tree.h"
#include "tree/trunk_tree.h"
#include "tree/verdict.h"

namespace banyan {

absl::StatusOr<std::unique_ptr<Drafter>> Random::Build(ParamsReader& in,
                                                       Workbench& bench) {
  BANYAN_RETURN_IF_ERROR(in.Finish());
  return std::make_unique<Random>(bench.target().vocab_size());
}

Random::Random(int vocab_size)
    : uniform_(Distribution::Dense(std::vector<double>(
          static_cast<std::size_t>(vocab_size), 1.0 / vocab_size))) {}

std::vector<DraftLaw> Random::laws() const {
  return {kEveryLaw.begin(), kEveryLaw.end()};
}

absl::Status Random::Begin(const Context& /*context*/) {
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Distribution>> Random::Propose(
    const Context& /*context*/, const TrunkTree& /*tree*/,
    absl::Span<const int> nodes) {
  return std::vector<Distribution>(nodes.size(), uniform_);
}

absl::Status Random::Observe(const Context& /*context*/,
                             const RoundOutcome& /*outcome*/) {
  return absl::OkStatus();
}

}  // namespace banyan
