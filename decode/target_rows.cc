#include "decode/target_rows.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "tree/derive.h"

namespace banyan {

TargetRows::TargetRows(const Scores& scores, const SamplingRule& rule,
                       const Context& context, const DraftTree& tree)
    : scores_(scores),
      rule_(rule),
      context_(context),
      tree_(tree),
      rows_(static_cast<std::size_t>(tree.size())) {}

const Distribution& TargetRows::Row(int node) {
  std::optional<Distribution>& row = rows_[static_cast<std::size_t>(node)];
  if (!row.has_value()) row = Make(node);
  return *row;
}

Distribution TargetRows::Glance(int node) {
  const std::optional<Distribution>& row =
      rows_[static_cast<std::size_t>(node)];
  return row.has_value() ? *row : Make(node);
}

Distribution TargetRows::Make(int node) {
  absl::StatusOr<Distribution> made =
      scores_.Law(node, rule_, context_.tokens, TokensTo(tree_, node));
  if (made.ok()) return *std::move(made);
  status_.Update(made.status());
  const int size = scores_.vocab_size();
  return Distribution::Dense(
      std::vector<double>(static_cast<std::size_t>(size), 1.0 / size));
}

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
