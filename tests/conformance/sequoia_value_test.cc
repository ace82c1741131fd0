// What Sequoia's programme predicts is what a model that satisfies its
// assumption gives, exactly.
#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "core/base/common.h"
#include "core/model/table_model.h"
#include "experiments/proof/exact_law.h"
#include "tests/conformance/compare.h"
#include "tests/conformance/pairing.h"
#include "tree/draft_tree.h"
#include "tree/optimize/sequoia.h"
#include "tree/optimize/shape.h"

namespace banyan {
namespace {

// A model without memory: then acceptance depends on a child's rank alone, and
// is the same at every node.
std::shared_ptr<TableModel> Memoryless(const std::vector<double>& law) {
  return std::make_shared<TableModel>(TableModel::Bigram(
      law, std::vector<std::vector<double>>(law.size(), law)));
}

// The unconditional acceptance of each rank, from trees of depth 1: what k
// draws accept less what k - 1 draws accept.
std::vector<double> AcceptanceByRank(const std::shared_ptr<TableModel>& target,
                                     const std::shared_ptr<TableModel>& drafter,
                                     DrawKind draw_kind, int ranks) {
  std::vector<double> acceptance;
  double before = 1;
  for (int k = 1; k <= ranks; ++k) {
    const double now =
        OneRound(One(target, "multi_round",
                     absl::StrCat("expansion {branching: [", k, "]}"), drafter,
                     draw_kind),
                 1)
            .expected_tokens_per_round;
    acceptance.push_back(now - before);
    before = now;
  }
  return acceptance;
}

TEST(SequoiaValue, IsTheExactExpectedLengthWhereAcceptanceGoesByRank) {
  const auto target = Memoryless({0.5, 0.3, 0.2});
  const auto drafter = Memoryless({0.3, 0.3, 0.4});
  for (DrawKind draw_kind :
       {DrawKind::kWithoutReplacement, DrawKind::kDeterministic}) {
    const std::vector<double> acceptance =
        AcceptanceByRank(target, drafter, draw_kind, 3);
    for (int budget = 0; budget <= 5; ++budget) {
      absl::StatusOr<RatedShape> best =
          BestTree({.acceptance = acceptance, .nodes = budget});
      ASSERT_TRUE(best.ok()) << best.status();
      const std::string policy = absl::StrCat("sequoia {acceptance: [",
                                              absl::StrJoin(acceptance, ", "),
                                              "], nodes: ", budget, "}");
      const ExactLaw exact =
          OneRound(One(target, "multi_round", policy, drafter, draw_kind), 1);
      // StrJoin keeps six digits of each acceptance: the tree is the same.
      EXPECT_NEAR(exact.expected_tokens_per_round, best->expected_tokens, 1e-12)
          << Name(draw_kind) << " budget " << budget;
    }
  }
}

}  // namespace
}  // namespace banyan
