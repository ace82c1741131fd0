#include "tests/drafters/trying.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <utility>

#include "core/base/common.h"
#include "core/base/token.h"
#include "core/prob/distribution.h"
#include "core/random/random_source.h"
#include "drafters/drafting.h"
#include "tests/support/shared_models.h"
#include "tests/support/tree_text.h"
#include "tree/draft_tree.h"
#include "tree/merge.h"
#include "tree/verdict.h"

namespace banyan {

void ExpectSameTree(const TrunkTree& tree, const TrunkTree& expected) {
  ASSERT_EQ(ToText(tree), ToText(expected));
  for (int node = 0; node < tree.size(); ++node) {
    SCOPED_TRACE(absl::StrCat("node ", node, " of ", ToText(tree)));
    const Proposal* own = tree.proposal(node);
    const Proposal* other = expected.proposal(node);
    ASSERT_EQ(own == nullptr, other == nullptr);
    EXPECT_TRUE(own == nullptr ||
                (Equal(own->q, other->q) && own->ranked == other->ranked));
    ASSERT_EQ(tree.draws(node).size(), expected.draws(node).size());
    for (std::size_t i = 0; i < tree.draws(node).size(); ++i)
      EXPECT_TRUE(Equal(tree.draws(node)[i].proposal,
                        expected.draws(node)[i].proposal));
  }
}

void EndRound(const TrunkTree& drafted, int vocab_size, std::mt19937_64& bits,
              const std::vector<Solo*>& drafters, Context& context) {
  const DraftTree tree = Merge({&drafted, 1});
  Verdict verdict;
  for (int node = 0; !tree.node(node).children.empty() && bits() % 4 != 0;) {
    const std::vector<int>& children = tree.node(node).children;
    node = children[bits() % children.size()];
    verdict.path.push_back(node);
    context.tokens.push_back(tree.node(node).token);
  }
  verdict.next =
      static_cast<TokenId>(bits() % static_cast<unsigned>(vocab_size));
  context.tokens.push_back(verdict.next);
  ++context.round;
  for (Solo* drafter : drafters) {
    const absl::Status status = drafter->Observe(context, {tree, verdict, 0});
    ASSERT_TRUE(status.ok()) << status;
  }
}

std::vector<TrunkTree> DraftTogether(const std::vector<Solo*>& drafters,
                                     const std::vector<Context>& contexts,
                                     const TreePolicy& policy) {
  SeededSource random(3);
  std::vector<Drafting> draftings;
  for (std::size_t i = 0; i < drafters.size(); ++i)
    draftings.emplace_back(
        std::vector<TrunkView>{{drafters[i]->drafter(), drafters[i]->session(),
                                policy, DrawKind::kIndependent, 0}},
        contexts[i], DraftLimits{.max_depth = 100},
        Chance(random, contexts[i].prompt, contexts[i].round));
  const absl::Status status = DraftAll(absl::MakeSpan(draftings));
  EXPECT_TRUE(status.ok()) << status;
  std::vector<TrunkTree> trees;
  for (Drafting& drafting : draftings)
    trees.push_back(std::move(std::move(drafting).Take().front()));
  return trees;
}

}  // namespace banyan
