// Lets a policy of all drafters draw a tree from made-up proposals.
#ifndef BANYAN_TESTS_SUPPORT_GROW_TOGETHER_H_
#define BANYAN_TESTS_SUPPORT_GROW_TOGETHER_H_

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "core/prob/distribution.h"
#include "tree/draft_tree.h"
#include "tree/growing_tree.h"
#include "tree/merge.h"
#include "tree/method_policy.h"

namespace banyan {

// What a drafter proposes at a node; empty: nothing.
using ProposalAt = absl::FunctionRef<Distribution(const GrowingTree& tree,
                                                  int node, int drafter)>;
// How often each drafter was asked, for however many nodes.
using TimesAsked = std::vector<int>;

// Draws are deterministic. As drafters/drafting.h does it: the first drafter
// that lacks a proposal is asked for all of its nodes.
inline DraftTree GrowTogether(const MethodPolicy& policy, int drafters,
                              ProposalAt proposal_at,
                              TimesAsked* asked = nullptr) {
  std::vector<GrowingTree::Drafter> all;
  for (int d = 0; d < drafters; ++d)
    all.push_back({.trunk = d, .draw_kind = DrawKind::kDeterministic});
  GrowingTree tree(0, std::move(all), {});
  if (asked != nullptr) asked->assign(static_cast<std::size_t>(drafters), 0);
  for (auto next = policy.Next(tree); !next.empty(); next = policy.Next(tree)) {
    int asking = drafters;
    for (const MethodExpansion& one : next)
      if (tree.proposal(one.node, one.drafter) == nullptr)
        asking = std::min(asking, one.drafter);
    for (const MethodExpansion& one : next) {
      const int own = tree.Adopt(one.node, one.drafter);
      if (one.drafter != asking || tree.tree(asking).proposal(own) != nullptr)
        continue;
      Proposal proposal = {.q = proposal_at(tree, one.node, asking)};
      if (!proposal.q.empty()) proposal.favourite = proposal.q.Argmax();
      tree.SetProposal(asking, own, std::move(proposal));
    }
    if (asking < drafters) {
      if (asked != nullptr) ++(*asked)[static_cast<std::size_t>(asking)];
      continue;
    }
    for (const MethodExpansion& one : next) {
      const int own = tree.own(one.node, one.drafter);
      const Distribution left = tree.LeftNew(one.node, one.drafter);
      if (left.empty()) {
        tree.Close(one.drafter, own);
        continue;
      }
      const TokenId token = left.Argmax();
      tree.AddDraw(one.drafter, own, token,
                   Distribution::OneHot(left.vocab_size(), token), false);
    }
  }
  return Merge(std::move(tree).Take());
}

}  // namespace banyan

#endif  // BANYAN_TESTS_SUPPORT_GROW_TOGETHER_H_
