#include "tree/policies/draft_estimates.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "core/base/token.h"
#include "tree/draft_tree.h"
#include "tree/optimize/joint_acceptance.h"
#include "tree/verdict.h"

namespace banyan {
namespace {

// How much is believed before a text has said anything: rounds without a
// draft, and accepted tokens.
constexpr double kPriorRounds = 4;
constexpr double kPriorAccepted = 8;

std::size_t Spot(int i) { return static_cast<std::size_t>(i); }

int ClassOf(double mass) {
  constexpr std::array<double, DraftEstimates::kClasses - 1> kEnds = {
      0.1, 0.3, 0.6, 0.85};
  return static_cast<int>(std::upper_bound(kEnds.begin(), kEnds.end(), mass) -
                          kEnds.begin());
}

}  // namespace

DraftEstimates::DraftEstimates(std::shared_ptr<const CostAwareModel> model)
    : model_(std::move(model)),
      running_(Spot(model_->acceptance.drafters())),
      corrections_(running_.size()),
      tokens_(kPriorRounds),
      ms_(kPriorRounds * model_->target_ms.front()) {
  Correct();
}

// A text on which drafts fail yields less than plain decoding, which is there
// for the taking.
double DraftEstimates::rate() const {
  return std::max(tokens_ / ms_, 1 / model_->target_ms.front());
}

void DraftEstimates::Correct() {
  for (std::size_t d = 0; d < running_.size(); ++d)
    for (std::size_t c = 0; c < running_[d].size(); ++c)
      corrections_[d][c] = (running_[d][c].accepted + kPriorAccepted) /
                           (running_[d][c].expected + kPriorAccepted);
}

double DraftEstimates::Chance(int drafter, double fade,
                              const PerDrafter& draws) const {
  const double chance = model_->acceptance.Gain(
      drafter, fade, absl::MakeConstSpan(draws).first(running_.size()));
  return std::min(chance * Correction(drafter, kClasses), kMostLikely);
}

double DraftEstimates::ChanceOf(int drafter, double fade,
                                const PerDrafter& draws, double mass,
                                const PerDrafter& agrees) const {
  const JointAcceptance& acceptance = model_->acceptance;
  const auto here = absl::MakeConstSpan(draws).first(running_.size());
  const double after_all = acceptance.Gain(drafter, fade, here);
  PerDrafter own = {};
  own[Spot(drafter)] = draws[Spot(drafter)];
  const double after_own = acceptance.Gain(
      drafter, fade, absl::MakeConstSpan(own).first(running_.size()));
  const double left = after_own > 0 ? after_all / after_own : 0;
  const double chance = (1 - model_->confidence) * after_all +
                        model_->confidence * std::min(mass, 1.0) * left;
  return std::min(acceptance.Given(drafter, chance, agrees) *
                      Correction(drafter, ClassOf(mass)),
                  kMostLikely);
}

Standings DraftEstimates::Below(const Standings& above, int first,
                                const PerDrafter& has) const {
  Standings below = {};
  for (std::size_t d = 0; d < running_.size(); ++d) {
    const int drafter = static_cast<int>(d);
    if (drafter == first || has[d] == 1)
      below[d] = JointAcceptance::BelowOwn(above[d]);
    else if (has[d] == 0)
      below[d] = {.on = 0};
    else
      below[d] = model_->acceptance.BelowOther(drafter, above[d], first);
  }
  return below;
}

Standings DraftEstimates::BelowNode(const DraftTree& tree, int node, int child,
                                    const Standings& standings) const {
  PerDrafter has;
  has.fill(-1);
  int first = -1;
  int time = 0;
  for (const DrawList& list : tree.node(node).lists) {
    int& own = has[Spot(list.trunk)];
    own = list.proposal.favourite == tree.node(child).token ? 1 : 0;
    for (const Draw& draw : list.draws) {
      if (draw.child != child) continue;
      own = 1;
      if (first >= 0 && draw.time > time) continue;
      first = list.trunk;
      time = draw.time;
    }
  }
  return Below(standings, first, has);
}

// Of the draws that were judged at a node: `accepted` is the child that was, or
// -1.
void DraftEstimates::ObserveNode(const DraftTree& tree, int node, int accepted,
                                 const Standings& standings) {
  const Node& at = tree.node(node);
  const int drafters = model_->acceptance.drafters();
  PerDrafter before = {};
  double left = 1;
  for (const Draw* draw : DrawsInTime(at)) {
    const auto list = std::find_if(
        at.lists.begin(), at.lists.end(), [&](const DrawList& own) {
          return draw >= own.draws.data() &&
                 draw < own.draws.data() + own.draws.size();
        });
    const int drafter = list->trunk;
    const double mass = list->proposal.q.Mass(draw->token);
    const PerDrafter agrees =
        Agreement(drafters, draw->token, [&](int e) -> TokenId {
          for (const DrawList& other : at.lists)
            if (other.trunk == e) return other.proposal.favourite;
          return -1;
        });
    // Without the corrections, which are what is looked for.
    const double chance =
        ChanceOf(drafter,
                 model_->acceptance.FadeAt(drafter, at.depth,
                                           standings[Spot(drafter)]),
                 before, mass, agrees) /
        Correction(drafter, ClassOf(mass));
    const bool is_accepted = accepted >= 0 && draw->child == accepted;
    OfDrafter& running = running_[Spot(drafter)];
    for (const int of_class : {ClassOf(mass), kClasses}) {
      running[Spot(of_class)].expected += std::min(chance / left, kMostLikely);
      running[Spot(of_class)].accepted += is_accepted ? 1 : 0;
    }
    if (is_accepted) return;
    left = std::max(left - chance, 1 - kMostLikely);
    ++before[Spot(drafter)];
  }
}

void DraftEstimates::Observe(const RoundOutcome& outcome) {
  const double kept = 1 - 1.0 / model_->memory;
  for (OfDrafter& drafter : running_)
    for (Running& running : drafter) {
      running.accepted *= kept;
      running.expected *= kept;
    }
  const DraftTree& tree = outcome.tree;
  int at = 0;
  Standings standings = {};
  for (const int next : outcome.verdict.path) {
    ObserveNode(tree, at, next, standings);
    standings = BelowNode(tree, at, next, standings);
    at = next;
  }
  ObserveNode(tree, at, /*accepted=*/-1, standings);
  Correct();
  // What the round took, by the model.
  const int most = static_cast<int>(model_->target_ms.size()) - 1;
  double ms = model_->target_ms[Spot(std::min(tree.Drafted(), most))];
  std::set<std::pair<int, int>> levels;
  for (const Node& node : tree.nodes())
    for (const DrawList& list : node.lists)
      if (levels.emplace(list.trunk, node.depth).second)
        ms += model_->draft_ms[Spot(list.trunk)];
  tokens_ =
      kept * tokens_ + static_cast<double>(outcome.verdict.path.size() + 1);
  ms_ = kept * ms_ + ms;
}

std::vector<double> DraftEstimates::State() const {
  std::vector<double> state = {tokens_, ms_};
  for (const OfDrafter& drafter : running_)
    for (const Running& running : drafter)
      state.insert(state.end(), {running.accepted, running.expected});
  return state;
}

}  // namespace banyan
