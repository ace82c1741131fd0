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
#include "tree/optimize/cost_curve.h"
#include "tree/optimize/joint_acceptance.h"
#include "tree/policies/bounds.h"
#include "tree/policies/row.h"
#include "tree/tree_policy.h"
#include "tree/verdict.h"

namespace banyan {
namespace {

constexpr int kMost = JointAcceptance::kMostDrafters;
// Draws that are added in thought at most, and the chance of the last.
constexpr int kAhead = 32;
constexpr double kLeastGain = 0.002;
// How much is believed before a text has said anything: rounds without a
// draft, and accepted tokens.
constexpr double kPriorRounds = 4;
constexpr double kPriorAccepted = 2;
constexpr double kMostLikely = 0.98;

std::size_t Index(int i) { return static_cast<std::size_t>(i); }

int ClassOf(double mass) {
  constexpr std::array<double, CostAware::kClasses - 1> kEnds = {0.1, 0.3, 0.6,
                                                                 0.85};
  return static_cast<int>(std::upper_bound(kEnds.begin(), kEnds.end(), mass) -
                          kEnds.begin());
}

using PerDrafter = std::array<int, kMost>;

// What each other drafter's favourite says of a token: 1, 0, or -1 where it is
// not known.
template <typename FavouriteOf>
PerDrafter Agreement(int drafters, TokenId token,
                     const FavouriteOf& favourite_of) {
  PerDrafter agrees;
  agrees.fill(-1);
  for (int e = 0; e < drafters; ++e)
    if (const TokenId favourite = favourite_of(e); favourite >= 0)
      agrees[Index(e)] = favourite == token ? 1 : 0;
  return agrees;
}

}  // namespace

CostAware::CostAware(std::shared_ptr<const CostAwareModel> model)
    : model_(std::move(model)),
      running_(Index(model_->acceptance.drafters())),
      tokens_(kPriorRounds),
      ms_(kPriorRounds * model_->target_ms.front()) {}

PolicyTraits CostAware::traits() const {
  return {.draw_kinds = EveryDrawKind(),
          .adapts = true,
          .nodes = model_->nodes,
          .levels = model_->levels == 0
                        ? model_->nodes
                        : std::min(model_->levels, model_->nodes),
          .drafters = model_->acceptance.drafters()};
}

double CostAware::rate() const { return tokens_ / ms_; }

double CostAware::Correction(int drafter, int of_class) const {
  const Running& running = running_[Index(drafter)][Index(of_class)];
  return (running.accepted + kPriorAccepted) /
         (running.expected + kPriorAccepted);
}

double CostAware::Corrected(int drafter, double chance, double mass) const {
  const int of_class = mass < 0 ? kClasses : ClassOf(mass);
  return std::min(chance * Correction(drafter, of_class), kMostLikely);
}

// What is drawn next, in thought.
class CostAwarePlan {
 public:
  CostAwarePlan(const CostAware& policy, const GrowingTree& tree)
      : policy_(policy),
        model_(*policy.model_),
        tree_(tree),
        drafters_(tree.drafters()) {
    for (int node = 0; node < tree.size(); ++node) AddNode(node);
  }

  std::vector<MethodExpansion> Run();

 private:
  // A node of the tree, or one that a draw in thought made.
  struct Place {
    double reach = 1;
    int depth = 0;
    int node = -1;  // of the tree
    int wave = 0;   // draws in thought above it
    PerDrafter draws = {};
    std::array<double, kMost> gain = {};  // of the next draw; 0: none
    // Levels that must be asked for first.
    PerDrafter asks = {};
  };
  struct Pick {
    std::size_t place;
    int drafter;
  };

  void AddNode(int node);
  double ChanceOf(int node, int drafter, const Draw& draw,
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

  const CostAware& policy_;
  const CostAwareModel& model_;
  const GrowingTree& tree_;
  const int drafters_;
  std::vector<Place> places_;      // the tree's first
  std::vector<PerDrafter> asked_;  // by wave: whether it is asked then
};

// The chance of a draw that was made, once its node is reached.
double CostAwarePlan::ChanceOf(int node, int drafter, const Draw& draw,
                               const PerDrafter& before) const {
  const double chance = model_.acceptance.Gain(
      drafter, tree_.node(node).depth + 1,
      absl::MakeConstSpan(before).first(Index(drafters_)));
  const PerDrafter agrees =
      Agreement(drafters_, draw.token, [&](int e) -> TokenId {
        const Proposal* const proposal = tree_.proposal(node, e);
        return proposal == nullptr ? -1 : proposal->favourite;
      });
  return policy_.Corrected(drafter,
                           model_.acceptance.Given(drafter, chance, agrees),
                           tree_.proposal(node, drafter)->q.Mass(draw.token));
}

void CostAwarePlan::AddNode(int node) {
  Place place = {.depth = tree_.node(node).depth, .node = node};
  if (node > 0) {
    // The draw that made it, after those before it at its parent.
    const int parent = tree_.node(node).parent;
    PerDrafter before = {};
    double others = 0;
    double own = 0;
    for (const DrawnAt& at : tree_.DrawsInTime(parent)) {
      const double chance = ChanceOf(parent, at.drafter, *at.draw, before);
      (at.draw->token == tree_.node(node).token ? own : others) += chance;
      ++before[Index(at.drafter)];
    }
    const double all = own + others;
    place.reach = places_[Index(parent)].reach *
                  (all > kMostLikely ? own * kMostLikely / all : own);
  }
  for (int d = 0; d < drafters_; ++d)
    place.draws[Index(d)] = static_cast<int>(tree_.draws(node, d).size());
  for (int d = 0; d < drafters_; ++d) {
    if (!MayGoOn(place.depth) || !tree_.MayDraw(node, d)) continue;
    place.asks[Index(d)] = AsksAt(node, d);
    place.gain[Index(d)] = NextGain(place, d);
  }
  places_.push_back(place);
}

// Levels to ask a drafter for before it can draw at a node.
int CostAwarePlan::AsksAt(int node, int drafter) const {
  int missing = 0;
  for (int above = node;
       above >= 0 && tree_.proposal(above, drafter) == nullptr;
       above = tree_.node(above).parent)
    ++missing;
  return tree_.drafter(drafter).proposes_ahead ? std::min(missing, 1) : missing;
}

double CostAwarePlan::NextGain(const Place& place, int drafter) const {
  const double chance = model_.acceptance.Gain(
      drafter, place.depth + 1,
      absl::MakeConstSpan(place.draws).first(Index(drafters_)));
  if (chance == 0) return 0;
  // Where the token is known that would be drawn: how sure the drafter is.
  double mass = -1;
  double given = chance;
  if (place.node >= 0) {
    const int own = tree_.own(place.node, drafter);
    const Proposal* const proposal = tree_.proposal(place.node, drafter);
    if (proposal != nullptr &&
        tree_.tree(drafter).draw_kind() == DrawKind::kDeterministic) {
      const TokenId token = tree_.tree(drafter).candidate(own);
      if (!tree_.HasChild(place.node, token)) {
        mass = tree_.tree(drafter).candidate_mass(own);
        given = model_.acceptance.Given(
            drafter, chance, Agreement(drafters_, token, [&](int e) -> TokenId {
              const Proposal* const other = tree_.proposal(place.node, e);
              return other == nullptr ? -1 : other->favourite;
            }));
      }
    }
  }
  return place.reach * policy_.Corrected(drafter, given, mass);
}

void CostAwarePlan::Take(const Pick& pick) {
  const Place at = places_[pick.place];
  const auto wave = Index(at.wave);
  if (asked_.size() <= wave) asked_.resize(wave + 1, PerDrafter{});
  if (at.asks[Index(pick.drafter)] > 0) asked_[wave][Index(pick.drafter)] = 1;
  Place child = {.reach = at.gain[Index(pick.drafter)],
                 .depth = at.depth + 1,
                 .wave = at.wave + 1};
  for (int d = 0; d < drafters_; ++d) {
    const bool may = d == pick.drafter || tree_.drafter(d).below_others;
    if (!may || !MayGoOn(child.depth) ||
        child.depth >= tree_.drafter(d).max_depth)
      continue;
    child.asks[Index(d)] = 1;
    child.gain[Index(d)] = NextGain(child, d);
  }
  places_.push_back(child);
  Place& now = places_[pick.place];
  ++now.draws[Index(pick.drafter)];
  for (int d = 0; d < drafters_; ++d)
    if (now.gain[Index(d)] > 0) now.gain[Index(d)] = NextGain(now, d);
}

std::vector<MethodExpansion> CostAwarePlan::Run() {
  const double rate = policy_.rate();
  const int drafted = tree_.size() - 1;
  const int most = std::min(model_.nodes - drafted, kAhead);
  std::vector<Pick> picks;
  std::size_t wanted = 0;
  double gained = 0;
  double asked_ms = 0;
  double best = 0;
  for (int k = 1; k <= most; ++k) {
    Pick pick = {0, -1};
    double worth = 0;
    for (std::size_t p = 0; p < places_.size(); ++p)
      for (int d = 0; d < drafters_; ++d) {
        const double gain = places_[p].gain[Index(d)];
        if (gain < kLeastGain) continue;
        const double own = gain - rate * AskMs(places_[p], d);
        if (pick.drafter >= 0 && own <= worth) continue;
        worth = own;
        pick = {p, d};
      }
    if (pick.drafter < 0) break;
    gained += places_[pick.place].gain[Index(pick.drafter)];
    asked_ms += AskMs(places_[pick.place], pick.drafter);
    Take(pick);
    picks.push_back(pick);
    const double value =
        gained - rate * (PassMs(drafted + k) - PassMs(drafted) + asked_ms);
    if (value <= best) continue;
    best = value;
    wanted = picks.size();
  }
  std::vector<MethodExpansion> next;
  std::set<std::size_t> drawn;
  for (std::size_t i = 0; i < wanted; ++i) {
    const Place& place = places_[picks[i].place];
    if (place.node < 0 || !drawn.insert(picks[i].place).second) continue;
    next.push_back(
        {.drafter = picks[i].drafter, .node = place.node, .new_tokens = true});
  }
  return next;
}

std::vector<MethodExpansion> CostAware::Next(const GrowingTree& tree) const {
  Check(tree.drafters() == model_->acceptance.drafters(),
        "cost_aware has acceptance and costs of other drafters");
  return CostAwarePlan(*this, tree).Run();
}

void CostAware::Observe(const RoundOutcome& outcome) {
  const double kept = 1 - 1.0 / model_->memory;
  for (OfDrafter& drafter : running_)
    for (Running& running : drafter) {
      running.accepted *= kept;
      running.expected *= kept;
    }
  const DraftTree& tree = outcome.tree;
  const int drafters = model_->acceptance.drafters();
  int at = 0;
  for (std::size_t step = 0; step <= outcome.verdict.path.size(); ++step) {
    const int next =
        step < outcome.verdict.path.size() ? outcome.verdict.path[step] : -1;
    const Node& node = tree.node(at);
    PerDrafter before = {};
    double left = 1;
    for (const Draw* draw : DrawsInTime(node)) {
      const auto list = std::find_if(
          node.lists.begin(), node.lists.end(), [&](const DrawList& own) {
            return draw >= own.draws.data() &&
                   draw < own.draws.data() + own.draws.size();
          });
      const int drafter = list->trunk;
      if (drafter >= drafters) return;  // of another method
      double chance = model_->acceptance.Gain(
          drafter, node.depth + 1,
          absl::MakeConstSpan(before).first(Index(drafters)));
      const PerDrafter agrees =
          Agreement(drafters, draw->token, [&](int e) -> TokenId {
            for (const DrawList& other : node.lists)
              if (other.trunk == e) return other.proposal.favourite;
            return -1;
          });
      chance = model_->acceptance.Given(drafter, chance, agrees);
      const bool accepted = next >= 0 && draw->child == next;
      const double expected = std::min(chance / left, kMostLikely);
      OfDrafter& running = running_[Index(drafter)];
      const double mass = list->proposal.q.Mass(draw->token);
      for (const int of_class : {ClassOf(mass), kClasses}) {
        running[Index(of_class)].expected += expected;
        running[Index(of_class)].accepted += accepted ? 1 : 0;
      }
      if (accepted) break;
      left = std::max(left - chance, 1 - kMostLikely);
      ++before[Index(drafter)];
    }
    if (next >= 0) at = next;
  }
  // What the round took, by the model.
  double ms = model_->target_ms[Index(std::min(
      tree.Drafted(), static_cast<int>(model_->target_ms.size()) - 1))];
  std::set<std::pair<int, int>> levels;
  for (const Node& node : tree.nodes())
    for (const DrawList& list : node.lists)
      if (list.trunk < drafters &&
          levels.emplace(list.trunk, node.depth).second)
        ms += model_->draft_ms[Index(list.trunk)];
  tokens_ =
      kept * tokens_ + static_cast<double>(outcome.verdict.path.size() + 1);
  ms_ = kept * ms_ + ms;
}

std::vector<double> CostAware::State() const {
  std::vector<double> state = {tokens_, ms_};
  for (const OfDrafter& drafter : running_)
    for (const Running& running : drafter)
      state.insert(state.end(), {running.accepted, running.expected});
  return state;
}

namespace {

struct CostAwareSection : CostAwareModel {
  int batch = 1;
  JointAcceptance::Hazards alone;
  std::vector<double> together;
  JointAcceptance::Matrix agree_right, agree_wrong;
};

BuiltPolicy BuildCostAware(ParamsReader& in, CostAwareSection section) {
  EnsureDraws(in, "nodes", section.nodes);
  const Params* const target_ms = in.Take("target_ms");
  in.Ensure(target_ms != nullptr, "target_ms",
            "is missing: the measured milliseconds of a target pass by its "
            "tokens (`costs: measured`, or a file of `banyan measure`)");
  in.Ensure(!section.alone.empty(), "alone",
            "is missing: the measured acceptance of each drafter (`costs: "
            "measured`, or a file of `banyan measure`)");
  BANYAN_RETURN_IF_ERROR(in.Finish());
  const auto wrong = [&](const absl::Status& status) {
    return in.section().Error(absl::StrCat(in.what(), ": ", status.message()));
  };
  if (const absl::Status status =
          JointAcceptance::Check(section.alone, section.together,
                                 section.agree_right, section.agree_wrong);
      !status.ok())
    return wrong(status);
  section.acceptance =
      JointAcceptance(section.alone, section.together, section.agree_right,
                      section.agree_wrong);
  if (section.draft_ms.size() != section.alone.size() ||
      !std::all_of(section.draft_ms.begin(), section.draft_ms.end(),
                   [](double ms) { return ms >= 0 && ms < 1e9; }))
    return wrong(absl::InvalidArgumentError(
        "draft_ms: expected the milliseconds of a level of each drafter"));
  BANYAN_ASSIGN_OR_RETURN(const CostCurve curve,
                          CostCurve::FromParams("target_ms", *target_ms));
  const CostAwareSection read = section;
  for (double& ms : section.draft_ms) ms /= read.batch;
  for (int nodes = 0; nodes <= read.nodes; ++nodes) {
    const absl::StatusOr<double> ms = curve.At((nodes + 1) * read.batch);
    if (!ms.ok()) return wrong(ms.status());
    section.target_ms.push_back(*ms / read.batch);
  }
  return std::make_unique<CostAware>(
      std::make_shared<const CostAwareModel>(std::move(section)));
}

}  // namespace

PolicyRow CostAwareRow() {
  using Section = CostAwareSection;
  Keys<Section> keys;
  keys.Between("nodes", &Section::nodes, 1, kMaxDraws,
               "The most nodes of a round.");
  keys.AtLeast("levels", &Section::levels, 0, "The most levels; 0: no limit.");
  keys.AtLeast("memory", &Section::memory, 1,
               "Running means are over about this many rounds.");
  keys.AtLeast("batch", &Section::batch, 1, "Prompts that share the passes.");
  keys.Described("target_ms", "map of tokens to ms",
                 "The milliseconds of a target pass by its tokens.");
  keys.Optional("draft_ms", &Section::draft_ms,
                "By drafter: the milliseconds of a level.");
  keys.Optional("alone", &Section::alone,
                "By drafter, depth and draw: the chance that a draw is "
                "accepted once the drafter's draws before it were refused.");
  keys.Optional("together", &Section::together,
                "By set of drafters (drafter d counts 2^d): the chance that "
                "these, and no others, have the accepted token.");
  keys.Optional("agree_right", &Section::agree_right,
                "By drafter and other: the chance that the other one's first "
                "token is the drafter's, where that is accepted.");
  keys.Optional("agree_wrong", &Section::agree_wrong,
                "The same where it is refused.");
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
