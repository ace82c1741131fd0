// Claim. Lossless on a tree whose nodes hold any number of draws, from one
// drafter or several, each judged by the law it was drawn from.
//
// Rule (SpecInfer, multi-step speculative sampling). At a node, cur = p. For
// the draws (x, q) in the order of time: accept with min(1, cur(x) / q(x)) and
// move to the child; if refused, cur = norm(pos(cur - q)). After the last draw
// emit a draw from cur and stop.
//
// Why. One round is Leviathan's step with cur in the place of p: whatever the
// earlier rounds were, a token emitted from here on follows cur, and by
// induction from the last round to the first it follows p.
//
// Repeated draws. A second draw of a refused token is refused again (cur has no
// mass there) but cur is updated all the same: leaving the round out is biased.
//
// Order. `drawn` is the order of time. `shuffled` judges the draws of each
// independent list in random order; as they are exchangeable that changes
// nothing in law, provided how many there are was fixed before the first.
#include "verifiers/multi_round.h"

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/params.h"
#include "core/prob/row_source.h"
#include "core/random/random_source.h"
#include "tree/draft_tree.h"
#include "tree/verdict.h"
#include "verifiers/judging.h"
#include "verifiers/verifier.h"

namespace banyan {
namespace {

// Puts the draws of one list in random order, every order alike.
void Shuffle(absl::Span<NumberedDraw> draws, int node, const Chance& chance) {
  const int first = draws.empty() ? 0 : draws.front().number;
  for (std::size_t i = 0; i + 1 < draws.size(); ++i) {
    const std::vector<double> equal(draws.size() - i, 1.0);
    const int pick = chance.Draw({equal}, Purpose::kOrder, node,
                                 first + static_cast<int>(i));
    std::swap(draws[i], draws[i + static_cast<std::size_t>(pick)]);
  }
}

void ShuffleLists(const Node& at, int node, const Chance& chance,
                  std::vector<NumberedDraw>& draws) {
  std::size_t first = 0;
  for (const DrawList& list : at.lists) {
    if (list.law == DraftLaw::kIndependent)
      Shuffle(absl::MakeSpan(draws).subspan(first, list.draws.size()), node,
              chance);
    first += list.draws.size();
  }
}

class MultiRound : public Verifier {
 public:
  explicit MultiRound(bool shuffled) : shuffled_(shuffled) {}

  VerifierTraits traits() const override {
    return {.laws = {DraftLaw::kIndependent, DraftLaw::kWithoutReplacement,
                     DraftLaw::kDeterministic},
            .fixed_counts = shuffled_,
            .twin = shuffled_ ? "" : "rounds"};
  }

  Verdict Verify(const DraftTree& tree, RowSource& target,
                 const Chance& chance) const override {
    if (!shuffled_) return VerifyRounds(tree, target, chance);
    return VerifyRounds(tree, target, chance, 1,
                        [&](int node, std::vector<NumberedDraw>& draws) {
                          ShuffleLists(tree.node(node), node, chance, draws);
                        });
  }

 private:
  bool shuffled_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Verifier>> BuildMultiRound(ParamsReader& in) {
  std::string order = "drawn";
  in.Optional("order", order);
  in.Ensure(order == "drawn" || order == "shuffled", "order",
            "must be drawn or shuffled");
  return std::make_unique<MultiRound>(order == "shuffled");
}

}  // namespace banyan
