#include "drafters/text/unigram_law.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "core/base/keys.h"
#include "core/base/params.h"
#include "core/base/status_macros.h"
#include "core/base/token.h"
#include "core/prob/distribution.h"
#include "core/prob/sampling_rule.h"
#include "drafters/text/count_rule.h"
#include "drafters/text/token_counts.h"
#include "drafters/workbench.h"
#include "tree/draft_tree.h"

namespace banyan {

UnigramLaw::UnigramLaw(std::shared_ptr<const TokenCounts> counts,
                       const SamplingRule& rule)
    : counts_(std::move(counts)), rule_(rule) {}

// Made when it is first asked for: drafters are built often, and the bigram
// rarely needs this.
const CountRow& UnigramLaw::Seen() {
  if (seen_.vocab_size > 0) return seen_;
  const std::vector<std::int64_t>& counts = counts_->unigram;
  seen_.vocab_size = static_cast<int>(counts.size());
  for (std::size_t token = 0; token < counts.size(); ++token) {
    if (counts[token] == 0) continue;
    seen_.tokens.push_back(static_cast<TokenId>(token));
    seen_.values.push_back(static_cast<double>(counts[token]));
  }
  return seen_;
}

absl::StatusOr<Proposal> UnigramLaw::After(DrawKind draw_kind,
                                           absl::Span<const TokenId> history,
                                           absl::Span<const TokenId> path) {
  if (rule_.reads_text()) return rule_.Apply(draw_kind, Seen(), history, path);
  Proposal& made = draw_kind == DrawKind::kDeterministic ? scores_ : law_;
  if (made.q.vocab_size() == 0) {
    BANYAN_ASSIGN_OR_RETURN(made, rule_.Apply(draw_kind, Seen(), {}, {}));
  }
  return made;
}

std::vector<KeyRow> CountsKeys() {
  return {
      NameKey("counts",
              "A file that `banyan make counts` wrote, relative to this one."),
      SamplingKey()};
}

absl::StatusOr<CountsAndRule> TakeCounts(ParamsReader& in, Workbench& bench) {
  const Params* file = in.TakeRequired("counts");
  BANYAN_ASSIGN_OR_RETURN(SamplingRule rule, bench.TakeRule(in));
  BANYAN_RETURN_IF_ERROR(in.Finish());
  const int vocab_size = bench.target().vocab_size();
  const auto open = bench.OpenFile<TokenCounts>(
      *file, absl::StrCat("of ", vocab_size, " tokens"),
      [&](const std::string& path)
          -> absl::StatusOr<std::shared_ptr<const TokenCounts>> {
        BANYAN_ASSIGN_OR_RETURN(TokenCounts counts,
                                ReadTokenCounts(path, vocab_size));
        return std::make_shared<TokenCounts>(std::move(counts));
      });
  BANYAN_ASSIGN_OR_RETURN(std::shared_ptr<const TokenCounts> counts, open);
  return CountsAndRule{std::move(counts), std::move(rule)};
}

}  // namespace banyan
