// DraftEstimates: what cost_aware believes of draws, and what it learns of them
// from a text. tree/policies/cost_aware.h has the rules.
#ifndef BANYAN_TREE_POLICIES_DRAFT_ESTIMATES_H_
#define BANYAN_TREE_POLICIES_DRAFT_ESTIMATES_H_

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "core/base/token.h"
#include "tree/optimize/joint_acceptance.h"
#include "tree/optimize/joint_shape.h"
#include "tree/verdict.h"

namespace banyan {

// What does not change from round to round.
struct CostAwareModel : JointModel {
  int memory = 64;
  double confidence = 0.6;
};

// A number for each drafter.
using PerDrafter = std::array<int, JointAcceptance::kMostDrafters>;
// What each had of a node's path.
using Standings =
    std::array<JointAcceptance::Standing, JointAcceptance::kMostDrafters>;

// What the drafters' favourites say of a token: 1 where it is that token, 0
// where it is not, -1 where none is known.
template <typename FavouriteOf>
PerDrafter Agreement(int drafters, TokenId token,
                     const FavouriteOf& favourite_of) {
  PerDrafter agrees;
  agrees.fill(-1);
  for (int e = 0; e < drafters; ++e)
    if (const TokenId favourite = favourite_of(e); favourite >= 0)
      agrees[static_cast<std::size_t>(e)] = favourite == token ? 1 : 0;
  return agrees;
}

class DraftEstimates {
 public:
  static constexpr int kClasses = 5;
  static constexpr double kMostLikely = 0.98;

  explicit DraftEstimates(std::shared_ptr<const CostAwareModel> model);

  const CostAwareModel& model() const { return *model_; }
  // The chance of a drafter's next draw at a node, its token not known.
  // `fade`: JointAcceptance::FadeAt; `draws`: those that each made there.
  double Chance(int drafter, double fade, const PerDrafter& draws) const;
  // The same of a token of this mass.
  double ChanceOf(int drafter, double fade, const PerDrafter& draws,
                  double mass, const PerDrafter& agrees) const;
  // What each drafter had of the path to a child that `first` drew. `has` says
  // who has the child's token, of those that it is known of (Agreement()).
  Standings Below(const Standings& above, int first,
                  const PerDrafter& has) const;
  // The tokens a millisecond that the text yields.
  double rate() const;

  void Observe(const RoundOutcome& outcome);
  std::vector<double> State() const;

 private:
  struct Running {
    double accepted = 0;
    double expected = 0;
  };
  // By class, and of all.
  using OfDrafter = std::array<Running, kClasses + 1>;

  // What came of draws on this text, for what was expected of them.
  double Correction(int drafter, int of_class) const {
    return corrections_[static_cast<std::size_t>(drafter)]
                       [static_cast<std::size_t>(of_class)];
  }
  void Correct();
  void ObserveNode(const DraftTree& tree, int node, int accepted,
                   const Standings& standings);
  Standings BelowNode(const DraftTree& tree, int node, int child,
                      const Standings& standings) const;

  std::shared_ptr<const CostAwareModel> model_;
  std::vector<OfDrafter> running_;
  std::vector<std::array<double, kClasses + 1>> corrections_;  // of running_
  double tokens_ = 0;
  double ms_ = 0;
};

}  // namespace banyan

#endif  // BANYAN_TREE_POLICIES_DRAFT_ESTIMATES_H_
