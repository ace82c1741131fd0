// What a verifier may not judge, it is not given.
#include <string>
#include <vector>

#include "core/base/common.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/conformance/pairing.h"
#include "tests/support/decoding.h"
#include "tests/support/tally.h"
#include "tests/support/tree_text.h"
#include "tree/draft_tree.h"
#include "verifiers/verifier.h"

namespace banyan {
namespace {

using ::testing::HasSubstr;

constexpr DrawKind kS = DrawKind::kIndependent;
constexpr DrawKind kW = DrawKind::kWithoutReplacement;
constexpr DrawKind kD = DrawKind::kDeterministic;

absl::Status Lawful(const std::string& verifier, const DraftTree& tree) {
  return CheckLawful(verifier, VerifierOf(verifier)->traits(), tree);
}

absl::Status Lawful(const std::string& verifier, absl::string_view text,
                    const std::vector<DrawKind>& draw_kinds = {}) {
  return Lawful(verifier, ParseTree(text, {.draw_kinds = draw_kinds}));
}

void ExpectRefused(const std::string& verifier, const absl::Status& status,
                   const std::string& at) {
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << verifier;
  EXPECT_THAT(std::string(status.message()), HasSubstr(verifier));
  EXPECT_THAT(std::string(status.message()), HasSubstr(at)) << verifier;
}

TEST(Lawful, ABareRootGoesWithEveryVerifier) {
  Tally tally;
  for (const std::string& verifier : VerifierSpecs()) {
    EXPECT_EQ(Lawful(verifier, "9"), absl::OkStatus()) << verifier;
    tally.Count(CaseResult::kProven);
  }
  ExpectCounts(tally, 23);
}

TEST(Lawful, ChainVerifiersTakeOneDrawANode) {
  for (const char* verifier : {"leviathan", "block", "rejection"}) {
    EXPECT_EQ(Lawful(verifier, "9(1(2(~3)))"), absl::OkStatus());
    ExpectRefused(verifier, Lawful(verifier, "9(1(2 3))"), "node 1");
    ExpectRefused(verifier, Lawful(verifier, "9(1 1)"), "node 0");
    ExpectRefused(verifier, Lawful(verifier, "9(1 ~2)"), "node 0");
  }
}

TEST(Lawful, OneListVerifiersTakeOneTrunk) {
  for (const char* verifier : {"leviathan", "block", "k_seq", "rejection"}) {
    ExpectRefused(verifier, Lawful(verifier, "9(1(2 | 3) | 1)"), "node 0");
    EXPECT_EQ(Lawful(verifier, "9( | 1( | 3))"), absl::OkStatus());
  }
  for (const char* verifier : {"multi_round", "traversal", "match"})
    EXPECT_EQ(Lawful(verifier, "9(1(2 | 3) | 1)"), absl::OkStatus());
}

TEST(Lawful, OnlyIndependentDrawsAreDividedByChainVerifiersAndKSeq) {
  for (const char* verifier : {"leviathan", "block", "k_seq", "rejection"}) {
    EXPECT_EQ(Lawful(verifier, "9(1(2))", {kS}), absl::OkStatus());
    ExpectRefused(verifier, Lawful(verifier, "9(1(2))", {kW}),
                  "without_replacement");
    ExpectRefused(verifier, Lawful(verifier, "9(1(2))", {kD}), "deterministic");
  }
}

TEST(Lawful, MixedListsGoWithTheVerifiersThatJudgeEachByItsOwn) {
  for (const char* verifier : {"multi_round", "without_replacement",
                               "traversal", "match", "point_mass", "greedy"})
    EXPECT_EQ(Lawful(verifier, "9(1 2 | 2 3 | 1 4)", {kS, kW, kD}),
              absl::OkStatus())
        << verifier;
}

TEST(Lawful, RoundsInRandomOrderTakeNoDrawsWithoutReplacement) {
  const std::string shuffled = "multi_round {order: shuffled}";
  EXPECT_EQ(Lawful(shuffled, "9(1 2 | 2 3)", {kS, kD}), absl::OkStatus());
  ExpectRefused(shuffled, Lawful(shuffled, "9(1 | 2(3 4))", {kD, kW}),
                "without_replacement");
}

TEST(Lawful, TraversalTakesNoSharedDraws) {
  std::vector<Node> nodes = ParseNodes("9(1(3) 2(3))");
  EXPECT_EQ(Lawful("traversal", DraftTree(nodes)), absl::OkStatus());
  nodes[3].lists[0].shared_draws = true;
  ExpectRefused("traversal", Lawful("traversal", DraftTree(nodes)), "node 3");
  EXPECT_EQ(Lawful("multi_round", DraftTree(nodes)), absl::OkStatus());
}

}  // namespace
}  // namespace banyan
