#include "drafters/unigram/unigram.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/context.h"
#include "core/base/params.h"
#include "core/base/status_macros.h"
#include "core/base/token.h"
#include "core/model/token_counts.h"
#include "core/prob/distribution.h"
#include "core/prob/sampling_rule.h"
#include "drafters/count_rule.h"
#include "drafters/drafter.h"
#include "drafters/propose_each.h"
#include "drafters/workbench.h"
#include "tree/draft_tree.h"
#include "tree/growing_tree.h"
#include "tree/verdict.h"

namespace banyan {

absl::StatusOr<TokenCounts> ReadCounts(const Params& file,
                                       const Workbench& bench) {
  std::string name;
  BANYAN_RETURN_IF_ERROR(Convert(file, name));
  absl::StatusOr<TokenCounts> counts =
      ReadTokenCounts(Beside(file, name), bench.target().vocab_size());
  if (!counts.ok()) return file.Error(counts.status().message());
  return counts;
}

absl::StatusOr<std::unique_ptr<Drafter>> Unigram::Build(ParamsReader& in,
                                                        Workbench& bench) {
  Params file;
  in.Required("counts", file);
  BANYAN_ASSIGN_OR_RETURN(const SamplingRule rule, bench.TakeRule(in));
  BANYAN_RETURN_IF_ERROR(in.Finish());
  BANYAN_ASSIGN_OR_RETURN(const TokenCounts counts, ReadCounts(file, bench));
  return std::make_unique<Unigram>(counts.unigram, rule);
}

Unigram::Unigram(const std::vector<std::int64_t>& counts,
                 const SamplingRule& rule)
    : counts_({.vocab_size = static_cast<int>(counts.size())}), rule_(rule) {
  for (std::size_t token = 0; token < counts.size(); ++token) {
    if (counts[token] == 0) continue;
    counts_.tokens.push_back(static_cast<TokenId>(token));
    counts_.values.push_back(static_cast<double>(counts[token]));
  }
}

absl::StatusOr<Distribution> Unigram::Proposal(
    DraftLaw law, absl::Span<const TokenId> history,
    absl::Span<const TokenId> path) {
  if (rule_.reads_text()) return rule_.Apply(law, counts_, history, path);
  Distribution& made = law == DraftLaw::kDeterministic ? scores_ : law_;
  if (made.vocab_size() == 0) {
    BANYAN_ASSIGN_OR_RETURN(made, rule_.Apply(law, counts_, {}, {}));
  }
  return made;
}

std::vector<DraftLaw> Unigram::laws() const {
  return {kEveryLaw.begin(), kEveryLaw.end()};
}

absl::Status Unigram::Begin(const Context& /*context*/) {
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Distribution>> Unigram::Propose(
    const Context& context, const GrowingTree& tree,
    absl::Span<const int> nodes) {
  return ProposeEach(tree, nodes,
                     [&](int /*node*/, const std::vector<TokenId>& path) {
                       return Proposal(tree.law(), context.tokens, path);
                     });
}

absl::Status Unigram::Observe(const Context& /*context*/,
                              const RoundOutcome& /*outcome*/) {
  return absl::OkStatus();
}

}  // namespace banyan
