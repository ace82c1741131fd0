#include "tests/decode/same_rounds.h"

#include <gtest/gtest.h>

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "core/prob/distribution.h"
#include "tree/draft_tree.h"

namespace banyan {
namespace {

void ExpectSameLaw(const Distribution& got, const Distribution& expected) {
  ASSERT_EQ(got.vocab_size(), expected.vocab_size());
  for (TokenId token = 0; token < got.vocab_size(); ++token)
    ASSERT_EQ(got.Mass(token), expected.Mass(token)) << "token " << token;
}

// `whole`: proposals are too, not just what was drawn of them.
void ExpectSameTree(const DraftTree& got, const DraftTree& expected,
                    bool whole) {
  ASSERT_EQ(got.size(), expected.size());
  for (int i = 0; i < got.size(); ++i) {
    const Node& a = got.node(i);
    const Node& b = expected.node(i);
    EXPECT_EQ(a.token, b.token) << "node " << i;
    EXPECT_EQ(a.parent, b.parent) << "node " << i;
    EXPECT_EQ(a.depth, b.depth) << "node " << i;
    EXPECT_EQ(a.children, b.children) << "node " << i;
    ASSERT_EQ(a.lists.size(), b.lists.size()) << "node " << i;
    for (std::size_t k = 0; k < a.lists.size(); ++k) {
      EXPECT_EQ(a.lists[k].trunk, b.lists[k].trunk);
      EXPECT_EQ(a.lists[k].draw_kind, b.lists[k].draw_kind);
      EXPECT_EQ(a.lists[k].shared_draws, b.lists[k].shared_draws);
      if (whole) ExpectSameLaw(a.lists[k].proposal.q, b.lists[k].proposal.q);
      ASSERT_EQ(a.lists[k].draws.size(), b.lists[k].draws.size());
      for (std::size_t d = 0; d < a.lists[k].draws.size(); ++d) {
        const Draw& x = a.lists[k].draws[d];
        const Draw& y = b.lists[k].draws[d];
        EXPECT_EQ(x.token, y.token);
        EXPECT_EQ(x.time, y.time);
        EXPECT_EQ(x.child, y.child);
        EXPECT_EQ(x.proposal.Mass(x.token), y.proposal.Mass(y.token));
        if (whole) ExpectSameLaw(x.proposal, y.proposal);
      }
    }
  }
  EXPECT_TRUE(CheckInvariants(got.nodes()).ok())
      << CheckInvariants(got.nodes());
}

}  // namespace

bool RanOnDevice(const RoundRecord& round) { return round.times.device_ns > 0; }

void ExpectSameRounds(const Rounds& got, const Rounds& expected, bool whole) {
  EXPECT_EQ(got.tokens, expected.tokens);
  ASSERT_EQ(got.rounds.size(), expected.rounds.size());
  for (std::size_t i = 0; i < got.rounds.size(); ++i) {
    SCOPED_TRACE(absl::StrCat("round ", i));
    const RoundRecord& a = got.rounds[i];
    const RoundRecord& b = expected.rounds[i];
    ExpectSameTree(a.tree, b.tree, whole);
    EXPECT_EQ(a.verdict.path, b.verdict.path);
    EXPECT_EQ(a.verdict.next, b.verdict.next);
    EXPECT_EQ(a.emitted, b.emitted);
    EXPECT_EQ(a.stopped, b.stopped);
    EXPECT_EQ(a.pass_tokens, b.pass_tokens);
    EXPECT_EQ(a.facts.probability, b.facts.probability);
    EXPECT_EQ(a.facts.overlap, b.facts.overlap);
    EXPECT_EQ(a.facts.log_probability, b.facts.log_probability);
    EXPECT_EQ(a.facts.logit_gap, b.facts.logit_gap);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace banyan
