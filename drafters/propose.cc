#include "drafters/propose.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "core/base/check.h"
#include "tree/derive.h"

namespace banyan {

namespace {

SamplingRule RankingRule(const SamplingRule& rule) {
  if (!rule.greedy()) return rule;
  return SamplingRule({.repetition_penalty = rule.options().repetition_penalty,
                       .banned = rule.options().banned});
}

}  // namespace

DraftRules::DraftRules(SamplingRule rule)
    : rule_(std::move(rule)), ranking_(RankingRule(rule_)) {}

Proposal Halving(int vocab_size, absl::Span<const TokenId> ranked) {
  Check(ranked.size() <= kMostCandidates, "more candidates than scores tell");
  std::vector<std::pair<TokenId, double>> entries;
  for (std::size_t rank = 0; rank < ranked.size(); ++rank)
    entries.emplace_back(ranked[rank],
                         std::ldexp(1.0, -static_cast<int>(rank) - 1));
  std::sort(entries.begin(), entries.end());
  std::vector<TokenId> tokens;
  std::vector<double> scores;
  for (const auto& [token, score] : entries) {
    tokens.push_back(token);
    scores.push_back(score);
  }
  return {.q = Distribution::Sparse(vocab_size, std::move(tokens),
                                    std::move(scores)),
          .ranked = true};
}

absl::StatusOr<std::vector<Proposals>> ProposeEach(
    absl::Span<const DraftRequest> requests,
    absl::FunctionRef<absl::StatusOr<Proposal>(
        const DraftRequest& request, int node, absl::Span<const TokenId> path)>
        propose) {
  std::vector<Proposals> all(requests.size());
  for (std::size_t i = 0; i < requests.size(); ++i)
    for (int node : requests[i].nodes) {
      BANYAN_ASSIGN_OR_RETURN(
          Proposal proposal,
          propose(requests[i], node, TokensTo(*requests[i].tree, node)));
      all[i].push_back(std::move(proposal));
    }
  return all;
}

absl::StatusOr<Proposals> DepthLaws(
    const std::vector<std::vector<double>>& logits, const LogitTokens& of,
    const SamplingRule& rule, const DraftRequest& request) {
  std::map<int, Distribution> laws;  // by depth; nodes of one depth share it
  Proposals proposals;
  for (int node : request.nodes) {
    const int depth = request.tree->node(node).depth;
    const auto at = static_cast<std::size_t>(depth);
    if (at >= logits.size()) {
      proposals.emplace_back();
      continue;
    }
    if (laws.count(depth) == 0) {
      const std::vector<TokenId>& text = request.context->tokens;
      BANYAN_ASSIGN_OR_RETURN(laws[depth],
                              of.tokens.empty()
                                  ? rule.Apply(logits[at], text, {})
                                  : rule.ApplyToSome(logits[at], of.tokens,
                                                     of.vocab_size, text, {}));
    }
    proposals.push_back({laws[depth]});
  }
  return proposals;
}

}  // namespace banyan
