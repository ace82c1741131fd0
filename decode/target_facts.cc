#include "decode/target_facts.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/status_macros.h"
#include "core/base/token.h"
#include "core/model/model.h"
#include "core/prob/distribution.h"
#include "core/prob/row_source.h"
#include "tree/draft_tree.h"
#include "tree/verdict.h"

namespace banyan {
namespace {

struct TokenFacts {
  double log_probability = 0;
  double gap = 0;
};

// Of `token` by a row of logits, which has a finite one.
TokenFacts Judge(const std::vector<double>& logits, TokenId token) {
  constexpr double kNone = -std::numeric_limits<double>::infinity();
  double first = kNone;
  double second = kNone;
  for (double logit : logits) {
    second = std::max(second, std::min(first, logit));
    first = std::max(first, logit);
  }
  double sum = 0;
  for (double logit : logits) sum += std::exp(logit - first);
  const double own = logits[static_cast<std::size_t>(token)];
  return {.log_probability = own - first - std::log(sum),
          .gap = std::isfinite(second) ? first - second : 0};
}

}  // namespace

absl::StatusOr<TargetFacts> GatherFacts(const Scores& scores,
                                        const DraftTree& tree,
                                        const Verdict& verdict,
                                        RowSource& rows) {
  TargetFacts facts;
  for (int i = 0; i < tree.size(); ++i) {
    const Node& node = tree.node(i);
    const bool judged = i > 0 && !node.probe();
    facts.probability.push_back(judged ? rows.Row(node.parent).Mass(node.token)
                                       : (i == 0 ? 1 : 0));
    facts.overlap.emplace_back();
    for (const DrawList& list : node.lists)
      facts.overlap.back().push_back(
          list.draws.empty()
              ? 0
              : Overlap(rows.Row(i), list.draws.front().proposal));
  }
  std::vector<double> logits;
  int at = 0;  // the node whose row gave the token
  for (std::size_t i = 0; i <= verdict.path.size(); ++i) {
    const bool last = i == verdict.path.size();
    const TokenId token =
        last ? verdict.next : tree.node(verdict.path[i]).token;
    BANYAN_RETURN_IF_ERROR(scores.Read(at, logits));
    const TokenFacts judged = Judge(logits, token);
    facts.log_probability.push_back(judged.log_probability);
    facts.logit_gap.push_back(judged.gap);
    if (!last) at = verdict.path[i];
  }
  return facts;
}

}  // namespace banyan
