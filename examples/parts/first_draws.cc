// Claim. Lossless for every draw kind.
//
// Rule. Multi-round verification of the first `most` draws of each node; later
// draws are not looked at.
//
// Why. A prefix of the draws of a node, in the order of time, is drawn as a
// node with fewer draws is, and multi-round verification of that node is
// lossless.
#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "core/base/params.h"
#include "core/prob/distribution.h"
#include "core/random/random_source.h"
#include "tree/draft_tree.h"
#include "tree/verdict.h"
#include "verifiers/judging.h"
#include "verifiers/row.h"
#include "verifiers/verifier.h"

namespace {

class FirstDraws : public banyan::Verifier {
 public:
  explicit FirstDraws(int most) : most_(static_cast<std::size_t>(most)) {}

  banyan::VerifierTraits traits() const override {
    return {.draw_kinds = {banyan::DrawKind::kWithoutReplacement,
                           banyan::DrawKind::kIndependent,
                           banyan::DrawKind::kDeterministic}};
  }

  banyan::Verdict Verify(const banyan::DraftTree& tree,
                         banyan::RowSource& target,
                         const banyan::Chance& chance) const override {
    return banyan::VerifyRounds(
        tree, target, chance, /*lenience=*/1,
        [this](int /*node*/, std::vector<banyan::NumberedDraw>& draws) {
          if (draws.size() > most_) draws.resize(most_);
        });
  }

 private:
  std::size_t most_;
};

banyan::BuiltVerifier Build(banyan::ParamsReader& /*in*/, int most) {
  return std::make_unique<FirstDraws>(most);
}

}  // namespace

banyan::VerifierRow FirstDrawsRow() {
  banyan::Keys<int> keys(1);
  keys.AtLeast("most", std::identity(), 1,
               "How many draws of a node are judged.");
  return {.name = "first_draws",
          .sentence = "Multi-round verification of each node's first draws.",
          .keys = keys.Rows(),
          .build = keys.ReadFor(Build),
          .variants = {"{most: 2}"}};
}
