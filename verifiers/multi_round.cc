// Claim. Lossless on a tree whose nodes hold any number of draws, from one
// drafter or several, each judged by the distribution it was drawn from.
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
// Order. `drawn` is the order of time. `shuffled` is a random order of all
// draws at a node, of every trunk, each order equally likely (Stratos,
// Speculative Decoding, section 2.1). It keeps the output distribution,
// provided the number of draws was fixed before the first: the order does not
// depend on the tokens, so each draw is still one from its own q, whatever was
// judged before. Shuffling suffices but is not needed: every order that does
// not depend on the tokens is lossless, the order of time included. Draws
// without replacement are refused: each q was made from the draws before it, so
// in another order the draw is not one from that q
// (configs/exact/controls/shuffled_without_replacement.yaml shows the bias).
#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/draw_math.h"
#include "core/base/params.h"
#include "core/prob/distribution.h"
#include "core/random/random_source.h"
#include "core/round/layout.h"
#include "tree/draft_tree.h"
#include "tree/verdict.h"
#include "verifiers/judging.h"
#include "verifiers/rows.h"
#include "verifiers/verifier.h"

namespace banyan {
namespace {

// Puts draws in random order, every order alike.
void Shuffle(std::vector<NumberedDraw>& draws, int node, const Chance& chance) {
  for (std::size_t i = 0; i + 1 < draws.size(); ++i) {
    const std::vector<double> equal(draws.size() - i, 1.0);
    const int pick =
        chance.Draw({equal}, Purpose::kOrder, node, static_cast<int>(i));
    std::swap(draws[i], draws[i + static_cast<std::size_t>(pick)]);
  }
}

class MultiRound : public Verifier {
 public:
  explicit MultiRound(bool shuffled) : shuffled_(shuffled) {}

  VerifierTraits traits() const override {
    if (shuffled_)
      return {.draw_kinds = {DrawKind::kIndependent, DrawKind::kDeterministic},
              .fixed_counts = true};
    return {
        .draw_kinds = {DrawKind::kIndependent, DrawKind::kWithoutReplacement,
                       DrawKind::kDeterministic},
        .device_judge = JudgeKind::kRounds};
  }

  Verdict Verify(const DraftTree& tree, RowSource& target,
                 const Chance& chance) const override {
    if (!shuffled_) return VerifyRounds(tree, target, chance);
    return VerifyRounds(tree, target, chance, 1,
                        [&](int node, std::vector<NumberedDraw>& draws) {
                          Shuffle(draws, node, chance);
                        });
  }

 private:
  bool shuffled_;
};

BuiltVerifier BuildMultiRound(ParamsReader& /*in*/, bool shuffled) {
  return std::make_unique<MultiRound>(shuffled);
}

}  // namespace

VerifierRow MultiRoundRow() {
  Keys<bool> keys;
  keys.OneOf("order", std::identity(), {"drawn", "shuffled"},
             "The order in which draws are judged; shuffled takes no draws "
             "without replacement.");
  return {.name = "multi_round",
          .sentence =
              "SpecInfer's multi-step speculative sampling: a tree's draws, "
              "one round after another.",
          .keys = keys.Rows(),
          .build = keys.ReadFor(BuildMultiRound),
          .variants = {"{order: shuffled}"}};
}

}  // namespace banyan
