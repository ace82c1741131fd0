#include "drafters/text/unigram/unigram.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/params.h"
#include "core/base/status_macros.h"
#include "core/base/token.h"
#include "core/model/context.h"
#include "core/prob/distribution.h"
#include "core/prob/sampling_rule.h"
#include "drafters/drafter.h"
#include "drafters/propose_each.h"
#include "drafters/text/token_counts.h"
#include "drafters/text/unigram_law.h"
#include "drafters/workbench.h"
#include "tree/draft_tree.h"
#include "tree/trunk_tree.h"
#include "tree/verdict.h"

namespace banyan {

absl::StatusOr<std::unique_ptr<Drafter>> Unigram::Build(ParamsReader& in,
                                                        Workbench& bench) {
  Params file;
  in.Required("counts", file);
  BANYAN_ASSIGN_OR_RETURN(const SamplingRule rule, bench.TakeRule(in));
  BANYAN_RETURN_IF_ERROR(in.Finish());
  BANYAN_ASSIGN_OR_RETURN(std::shared_ptr<const TokenCounts> counts,
                          OpenCounts(file, bench));
  return std::make_unique<Unigram>(std::move(counts), rule);
}

Unigram::Unigram(std::shared_ptr<const TokenCounts> counts,
                 const SamplingRule& rule)
    : law_(std::move(counts), rule) {}

std::vector<DraftLaw> Unigram::laws() const {
  return {kEveryLaw.begin(), kEveryLaw.end()};
}

absl::Status Unigram::Begin(const Context& /*context*/) {
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Distribution>> Unigram::Propose(
    const Context& context, const TrunkTree& tree,
    absl::Span<const int> nodes) {
  return ProposeEach(tree, nodes,
                     [&](int /*node*/, const std::vector<TokenId>& path) {
                       return law_.After(tree.law(), context.tokens, path);
                     });
}

absl::Status Unigram::Observe(const Context& /*context*/,
                              const RoundOutcome& /*outcome*/) {
  return absl::OkStatus();
}

}  // namespace banyan
