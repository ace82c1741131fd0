#include "tree/policies/cost_aware.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/common.h"
#include "core/base/params.h"
#include "core/base/token.h"
#include "tree/draft_tree.h"
#include "tree/growing_tree.h"
#include "tree/method_policy.h"
#include "tree/optimize/joint_acceptance.h"
#include "tree/optimize/joint_shape.h"
#include "tree/policies/draft_estimates.h"
#include "tree/policies/joint_keys.h"
#include "tree/policies/row.h"
#include "tree/tree_policy.h"
#include "tree/verdict.h"

namespace banyan {
namespace {

// Draws that are added in thought at most, and the chance of the last.
constexpr int kAhead = 32;
constexpr double kLeastGain = 0.002;
constexpr double kMostEase = 4;

std::size_t Index(int i) { return static_cast<std::size_t>(i); }

}  // namespace

PolicyTraits CostAware::traits() const {
  const CostAwareModel& model = estimates_.model();
  return {.draw_kinds = EveryDrawKind(),
          .adapts = true,
          .nodes = model.nodes,
          .levels = model.levels == 0 ? model.nodes
                                      : std::min(model.levels, model.nodes),
          .drafters = model.acceptance.drafters()};
}

// What is drawn next, in thought.
class CostAwarePlan {
 public:
  CostAwarePlan(const DraftEstimates& estimates, const GrowingTree& tree)
      : estimates_(estimates),
        model_(estimates.model()),
        tree_(tree),
        drafters_(tree.drafters()) {
    places_.reserve(Index(tree.size() + kAhead));
    places_.resize(Index(tree.size()));
    for (int node = 0; node < tree.size(); ++node) AddNode(node);
  }

  std::vector<MethodExpansion> Run();
  double WorthAsking(int drafter);

 private:
  // A node of the tree, or one that a draw in thought made.
  struct Place {
    double reach = 1;
    // How much likelier the tokens of its path were than usual.
    double ease = 1;
    int depth = 0;
    int node = -1;  // of the tree
    int wave = 0;   // draws in thought above it
    PerDrafter draws = {};
    Standings standings = {};
    // JointAcceptance::FadeAt; known once the place is open.
    std::array<double, JointAcceptance::kMostDrafters> fade = {};
    // Of each drafter's next draw; 0: it draws no more.
    std::array<double, JointAcceptance::kMostDrafters> gain = {};
    double best = 0;  // of `gain`
    // By drafter: levels that it must be asked for first.
    PerDrafter asks = {};
  };
  struct Pick {
    std::size_t place;
    int drafter;
  };

  void AddNode(int node);
  void NoteChildren(const Place& above);
  static void NoteBest(Place& place) {
    place.best = *std::max_element(place.gain.begin(), place.gain.end());
  }
  PerDrafter WhoHas(int node, TokenId token) const;
  void NoteFades(Place& place) const {
    for (int d = 0; d < drafters_; ++d)
      place.fade[Index(d)] =
          model_.acceptance.FadeAt(d, place.depth, place.standings[Index(d)]);
  }
  double ChanceAt(const Place& place, int drafter, TokenId token, double mass,
                  const PerDrafter& before) const;
  double NextGain(const Place& place, int drafter) const;
  int AsksAt(int node, int drafter) const;
  bool MayGoOn(int depth) const {
    return model_.levels == 0 || depth < model_.levels;
  }
  double PassMs(int nodes) const { return model_.target_ms[Index(nodes)]; }
  // Of asking for a place's next draw, beside what is asked already.
  double AskMs(const Place& place, int drafter) const {
    const auto wave = Index(place.wave);
    if (place.asks[Index(drafter)] == 0) return 0;
    if (wave < asked_.size() && asked_[wave][Index(drafter)] != 0) return 0;
    return place.asks[Index(drafter)] * model_.draft_ms[Index(drafter)];
  }
  void Take(const Pick& pick);
  double Think();

  const DraftEstimates& estimates_;
  const CostAwareModel& model_;
  const GrowingTree& tree_;
  const int drafters_;
  std::vector<Pick> picks_;
  std::size_t wanted_ = 0;
  std::vector<Place> places_;      // the tree's first
  std::vector<PerDrafter> asked_;  // by wave: whether it is asked then
};

// Whose first token at a node a token is.
PerDrafter CostAwarePlan::WhoHas(int node, TokenId token) const {
  return Agreement(drafters_, token, [&](int e) -> TokenId {
    const Proposal* const proposal = tree_.proposal(node, e);
    return proposal == nullptr ? -1 : proposal->favourite;
  });
}

// The chance of a token, once its node is reached.
double CostAwarePlan::ChanceAt(const Place& place, int drafter, TokenId token,
                               double mass, const PerDrafter& before) const {
  return estimates_.ChanceOf(drafter, place.fade[Index(drafter)], before, mass,
                             WhoHas(place.node, token));
}

// Adds a node whose reach and ease its parent has noted.
void CostAwarePlan::AddNode(int node) {
  Place& place = places_[Index(node)];
  place.depth = tree_.node(node).depth;
  place.node = node;
  NoteFades(place);
  for (int d = 0; d < drafters_; ++d)
    place.draws[Index(d)] = static_cast<int>(tree_.draws(node, d).size());
  for (int d = 0; d < drafters_; ++d) {
    if (!MayGoOn(place.depth) || !tree_.MayDraw(node, d)) continue;
    place.asks[Index(d)] = AsksAt(node, d);
    place.gain[Index(d)] = NextGain(place, d);
  }
  NoteBest(place);
  if (!tree_.node(node).children.empty()) NoteChildren(place);
}

// How likely a node's children are, by the draws that led to them.
void CostAwarePlan::NoteChildren(const Place& above) {
  struct Child {
    double own = 0;
    double usual = 0;
    int first = -1;  // who drew it first
    PerDrafter has = {};
  };
  const std::vector<int>& children = tree_.node(above.node).children;
  std::vector<Child> sums(children.size());
  PerDrafter before = {};
  double all = 0;
  for (const DrawnAt& at : tree_.DrawsInTime(above.node)) {
    const TokenId token = at.draw->token;
    const double chance =
        ChanceAt(above, at.drafter, token,
                 tree_.proposal(above.node, at.drafter)->q.Mass(token), before);
    all += chance;
    for (std::size_t i = 0; i < children.size(); ++i) {
      if (tree_.node(children[i]).token != token) continue;
      sums[i].own += chance;
      sums[i].usual +=
          estimates_.Chance(at.drafter, above.fade[Index(at.drafter)], before);
      PerDrafter& has = sums[i].has;
      if (sums[i].first < 0) {
        sums[i].first = at.drafter;
        has = WhoHas(above.node, token);
      }
      has[Index(at.drafter)] = 1;
    }
    ++before[Index(at.drafter)];
  }
  const double most = DraftEstimates::kMostLikely;
  for (std::size_t i = 0; i < children.size(); ++i) {
    const auto& [own, usual, first, has] = sums[i];
    Place& child = places_[Index(children[i])];
    child.standings = estimates_.Below(above.standings, first, has);
    child.reach = above.reach * (all > most ? own * most / all : own);
    const double ease = usual > 0 ? std::min(own / usual, kMostEase) : 1;
    child.ease = (above.ease * above.depth + ease) / (above.depth + 1);
  }
}

// Levels to ask a drafter for before it can draw at a node.
int CostAwarePlan::AsksAt(int node, int drafter) const {
  int missing = 0;
  for (int above = node;
       above >= 0 && tree_.proposal(above, drafter) == nullptr;
       above = tree_.node(above).parent)
    ++missing;
  return missing;
}

// What a drafter's next draw at a place is expected to bring.
double CostAwarePlan::NextGain(const Place& place, int drafter) const {
  const TrunkTree& own = tree_.tree(drafter);
  // Where the token is known that would be drawn.
  if (place.node >= 0 && own.draw_kind() == DrawKind::kDeterministic &&
      place.draws[Index(drafter)] ==
          static_cast<int>(tree_.draws(place.node, drafter).size()) &&
      tree_.proposal(place.node, drafter) != nullptr) {
    const int node = tree_.own(place.node, drafter);
    if (!tree_.HasChild(place.node, own.candidate(node)))
      return place.reach * ChanceAt(place, drafter, own.candidate(node),
                                    own.candidate_mass(node), place.draws);
  }
  // The next token is as easy as those of the path, as far as the drafter's
  // confidence is believed.
  const double ease = 1 + model_.confidence * (place.ease - 1);
  return place.reach *
         std::min(ease * estimates_.Chance(drafter, place.fade[Index(drafter)],
                                           place.draws),
                  DraftEstimates::kMostLikely);
}

// Draws in thought: the place has a child, and another next draw.
void CostAwarePlan::Take(const Pick& pick) {
  const Place at = places_[pick.place];
  const auto wave = Index(at.wave);
  if (asked_.size() <= wave) asked_.resize(wave + 1, PerDrafter{});
  if (at.asks[Index(pick.drafter)] > 0) asked_[wave][Index(pick.drafter)] = 1;
  Place child = {.reach = at.gain[Index(pick.drafter)],
                 .ease = at.ease,
                 .depth = at.depth + 1,
                 .wave = at.wave + 1};
  PerDrafter has;  // who drew before has other tokens
  for (int d = 0; d < drafters_; ++d)
    has[Index(d)] = at.draws[Index(d)] > 0 ? 0 : -1;
  child.standings = estimates_.Below(at.standings, pick.drafter, has);
  NoteFades(child);
  for (int d = 0; d < drafters_; ++d) {
    const bool may = d == pick.drafter || tree_.drafter(d).below_others;
    if (!may || !MayGoOn(child.depth) ||
        child.depth >= tree_.drafter(d).max_depth)
      continue;
    child.asks[Index(d)] = 1;
    child.gain[Index(d)] = NextGain(child, d);
  }
  NoteBest(child);
  places_.push_back(child);
  Place& now = places_[pick.place];
  ++now.draws[Index(pick.drafter)];
  for (int d = 0; d < drafters_; ++d)
    if (now.gain[Index(d)] > 0) now.gain[Index(d)] = NextGain(now, d);
  NoteBest(now);
}

// Draws in thought, each time what is worth most. Returns what the best
// beginning of them is worth, which is then `wanted_`.
double CostAwarePlan::Think() {
  const double rate = estimates_.rate();
  const int drafted = tree_.size() - 1;
  const int most = std::min(model_.nodes - drafted, kAhead);
  double gained = 0;
  double asked_ms = 0;
  double best = 0;
  for (int k = 1; k <= most; ++k) {
    Pick pick = {0, -1};
    double worth = 0;
    for (std::size_t p = 0; p < places_.size(); ++p) {
      const double best_there = places_[p].best;
      if (best_there < kLeastGain || (pick.drafter >= 0 && best_there <= worth))
        continue;
      for (int d = 0; d < drafters_; ++d) {
        const double gain = places_[p].gain[Index(d)];
        if (gain < kLeastGain) continue;
        const double own = gain - rate * AskMs(places_[p], d);
        if (pick.drafter >= 0 && own <= worth) continue;
        worth = own;
        pick = {p, d};
      }
    }
    if (pick.drafter < 0) break;
    gained += places_[pick.place].gain[Index(pick.drafter)];
    asked_ms += AskMs(places_[pick.place], pick.drafter);
    Take(pick);
    picks_.push_back(pick);
    const double value =
        gained - rate * (PassMs(drafted + k) - PassMs(drafted) + asked_ms);
    if (value <= best) continue;
    best = value;
    wanted_ = picks_.size();
  }
  return best;
}

std::vector<MethodExpansion> CostAwarePlan::Run() {
  Think();
  std::vector<MethodExpansion> next;
  std::set<std::size_t> drawn;
  for (std::size_t i = 0; i < wanted_; ++i) {
    const Place& place = places_[picks_[i].place];
    if (place.node < 0 || !drawn.insert(picks_[i].place).second) continue;
    next.push_back(
        {.drafter = picks_[i].drafter, .node = place.node, .new_tokens = true});
  }
  return next;
}

// What asking a drafter at the root is worth where its usual token is not: half
// the time the answer is that the round is easier than usual.
double CostAwarePlan::WorthAsking(int drafter) {
  Place& root = places_.front();
  const double usual =
      estimates_.Chance(drafter, root.fade[Index(drafter)], root.draws);
  const double ask_ms = AskMs(root, drafter);
  if (usual == 0) return 0;
  root.ease = 1 + std::min(1.0, (1 / usual - 1) / 2);
  for (int d = 0; d < drafters_; ++d)
    root.gain[Index(d)] = d == drafter ? NextGain(root, d) : 0;
  NoteBest(root);
  root.asks[Index(drafter)] = 0;  // is paid whatever the answer is
  return Think() / 2 - estimates_.rate() * ask_ms;
}

std::vector<MethodExpansion> CostAware::Next(const GrowingTree& tree) const {
  Check(tree.drafters() == estimates_.model().acceptance.drafters(),
        "cost_aware has acceptance and costs of other drafters");
  std::vector<MethodExpansion> next = CostAwarePlan(estimates_, tree).Run();
  if (!next.empty() || tree.size() > 1) return next;
  int best = -1;
  double most = 0;
  for (int d = 0; d < tree.drafters(); ++d) {
    if (tree.proposal(0, d) != nullptr) return next;  // was asked: it is not
    if (!tree.MayDraw(0, d)) continue;
    const double worth = CostAwarePlan(estimates_, tree).WorthAsking(d);
    if (worth <= most) continue;
    most = worth;
    best = d;
  }
  if (best >= 0) next.push_back({.drafter = best, .new_tokens = true});
  return next;
}

namespace {

struct CostAwareSection : JointSection {
  int memory = CostAwareModel().memory;
  double confidence = CostAwareModel().confidence;
};

BuiltPolicy BuildCostAware(ParamsReader& in, const CostAwareSection& section) {
  BANYAN_ASSIGN_OR_RETURN(JointModel model, ReadJoint(in, section));
  return std::make_unique<CostAware>(std::make_shared<const CostAwareModel>(
      CostAwareModel{std::move(model), section.memory, section.confidence}));
}

}  // namespace

PolicyRow CostAwareRow() {
  using Section = CostAwareSection;
  Keys<Section> keys;
  AddSizeKeys(keys);
  keys.AtLeast("memory", &Section::memory, 1,
               "Running means are over about this many rounds.");
  keys.Between("confidence", &Section::confidence, 0.0, 1.0,
               "How much of a token's chance is the drafter's own mass of it; "
               "the rest is counted.");
  AddJointKeys(keys);
  return {.name = "cost_aware",
          .sentence =
              "Grows the tree of all drafters while the next draws bring more "
              "tokens a millisecond than the text yields.",
          .keys = keys.Rows(),
          .build = keys.ReadFor(BuildCostAware),
          .sizes = {.nodes = true, .levels = true},
          .takes_costs = true,
          .of_method = true,
          .examples = {
              "{nodes: 3, target_ms: {1: 10, 4: 11}, draft_ms: [0.1], alone: "
              "[[[0.6, 0.3], [0.4]]]}",
              "{nodes: 4, levels: 2, memory: 1, target_ms: {1: 10, 2: 14, 3: "
              "14.1, 5: 14.2}, draft_ms: [0.2], alone: [[[0.5, 0.3, 0.2]]]}"}};
}

}  // namespace banyan
