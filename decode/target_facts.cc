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
#include "decode/target_rows.h"
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

// Sets the overlap of a node and the probabilities of its children.
void JudgeDraws(const Distribution& p, const DraftTree& tree, int at,
                TargetFacts& facts) {
  const Node& node = tree.node(at);
  std::vector<double>& overlap = facts.overlap[static_cast<std::size_t>(at)];
  for (std::size_t i = 0; i < node.lists.size(); ++i)
    if (!node.lists[i].draws.empty())
      overlap[i] = Overlap(p, node.lists[i].draws.front().proposal);
  for (int child : node.children)
    if (!tree.node(child).probe())
      facts.probability[static_cast<std::size_t>(child)] =
          p.Mass(tree.node(child).token);
}

bool HasDraws(const Node& node) {
  return std::any_of(node.lists.begin(), node.lists.end(),
                     [](const DrawList& list) { return !list.draws.empty(); });
}

}  // namespace

absl::StatusOr<TargetFacts> GatherFacts(const Scores& scores,
                                        const DraftTree& tree,
                                        const Verdict& verdict,
                                        TargetRows& rows) {
  TargetFacts facts;
  facts.probability.assign(tree.nodes().size(), 0);
  facts.probability[0] = 1;
  for (const Node& node : tree.nodes())
    facts.overlap.emplace_back(node.lists.size(), 0.0);
  for (int i = 0; i < tree.size(); ++i)
    if (HasDraws(tree.node(i))) JudgeDraws(rows.Glance(i), tree, i, facts);
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
