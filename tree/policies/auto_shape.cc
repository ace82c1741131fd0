#include "tree/policies/auto_shape.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/common.h"
#include "core/base/params.h"
#include "tree/draft_tree.h"
#include "tree/optimize/hardware.h"
#include "tree/optimize/shape.h"
#include "tree/policies/fixed_shape.h"
#include "tree/policies/plans.h"
#include "tree/policies/row.h"
#include "tree/tree_policy.h"
#include "tree/trunk_tree.h"
#include "tree/verdict.h"

namespace banyan {
namespace {

// A second or two for all searches.
constexpr int kMostNodes = 1024;

constexpr int kSide = 12;  // levels on each side of the stated acceptance
constexpr double kStep = 0.5;
// How many nodes the stated acceptance counts for before the first round.
constexpr double kPriorNodes = 2;
// What the best level must promise for a trial: less is not worth its cost.
constexpr double kWorthAsking = 1.1;
// The longest wait, in first waits.
constexpr double kMostWaits = 4;

// The acceptance by rank with the odds of every conditional one scaled.
std::vector<double> Scaled(absl::Span<const double> acceptance, double odds) {
  std::vector<double> scaled;
  double before = 1;  // what the stated acceptance left to this rank
  double left = 1;    // what the scaled one does
  for (double p : acceptance) {
    const double c = before > 0 ? std::min(p / before, 1.0) : 0;
    const double own = c * odds / (1 - c + c * odds);
    scaled.push_back(left * own);
    before -= p;
    left -= scaled.back();
  }
  return scaled;
}

// Sums of the first k, from k = 0.
std::vector<double> Sums(absl::Span<const double> values) {
  std::vector<double> sums = {0};
  for (double value : values) sums.push_back(sums.back() + value);
  return sums;
}

}  // namespace

AutoShape::AutoShape(const AutoOptions& options)
    : memory_(options.memory),
      trial_(options.trial),
      single_(Shape::Chain(1)),
      single_policy_(single_),
      wait_(options.trial) {}

absl::StatusOr<std::unique_ptr<AutoShape>> AutoShape::Make(
    const AutoOptions& options) {
  std::unique_ptr<AutoShape> policy(new AutoShape(options));
  const std::vector<double>& measured = options.hardware.limits.acceptance;
  for (int t = -kSide; t <= kSide; ++t) {
    HardwareOptions hardware = options.hardware;
    if (t != 0)
      hardware.limits.acceptance = Scaled(measured, std::exp2(t * kStep));
    BANYAN_ASSIGN_OR_RETURN(const HardwareChoice choice, FastestTree(hardware));
    policy->most_speedup_ = std::max(policy->most_speedup_, choice.speedup);
    std::vector<double> sums = Sums(hardware.limits.acceptance);
    const double expected = kPriorNodes * sums.back();
    policy->levels_.push_back(
        {std::move(sums), choice.shape, FixedShape(choice.shape), expected});
  }
  policy->accepted_ = policy->levels_[static_cast<std::size_t>(kSide)].expected;
  return policy;
}

PolicyTraits AutoShape::traits() const {
  const auto chain = [](const Level& level) {
    return level.policy.traits().chain;
  };
  PolicyTraits traits = single_policy_.traits();
  traits.chain = std::all_of(levels_.begin(), levels_.end(), chain);
  traits.adapts = true;
  for (const Level& level : levels_) {
    const PolicyTraits own = level.policy.traits();
    traits.nodes = std::max(traits.nodes, own.nodes);
    traits.levels = std::max(traits.levels, own.levels);
  }
  return traits;
}

const AutoShape::Level& AutoShape::level() const {
  const auto off = [&](int t) {
    const Level& level = levels_[static_cast<std::size_t>(t + kSide)];
    return std::abs(level.expected - accepted_);
  };
  int best = 0;
  for (int side = 1; side <= kSide; ++side)
    for (int t : {-side, side})
      if (off(t) < off(best)) best = t;
  return levels_[static_cast<std::size_t>(best + kSide)];
}

bool AutoShape::Tries() const {
  return idle_ >= wait_ && most_speedup_ >= kWorthAsking;
}

const Shape& AutoShape::shape() const {
  const Shape& chosen = level().shape;
  return chosen.size() == 1 && Tries() ? single_ : chosen;
}

std::vector<Expansion> AutoShape::Next(const TrunkTree& tree) const {
  const Level& chosen = level();
  if (chosen.shape.size() == 1 && Tries()) return single_policy_.Next(tree);
  return chosen.policy.Next(tree);
}

void AutoShape::Count(int draws, bool accepted) {
  const double kept = 1 - 1.0 / memory_;
  accepted_ = kept * accepted_ + (accepted ? 1 : 0);
  for (Level& level : levels_) {
    const std::size_t last = level.accepted_of.size() - 1;
    level.expected =
        kept * level.expected +
        level.accepted_of[std::min(static_cast<std::size_t>(draws), last)];
  }
}

void AutoShape::Observe(const RoundOutcome& outcome) {
  const DraftTree& tree = outcome.tree;
  bool drafted = false;
  bool any = false;
  int at = 0;
  for (std::size_t step = 0; step <= outcome.verdict.path.size(); ++step) {
    const bool last = step == outcome.verdict.path.size();
    const int next = last ? -1 : outcome.verdict.path[step];
    for (const DrawList& list : tree.node(at).lists) {
      if (list.trunk != outcome.trunk || list.draws.empty()) continue;
      const bool accepted =
          !last && std::any_of(list.draws.begin(), list.draws.end(),
                               [&](const Draw& d) { return d.child == next; });
      Count(static_cast<int>(list.draws.size()), accepted);
      drafted = true;
      any |= accepted;
    }
    if (!last) at = next;
  }
  if (!drafted) {
    ++idle_;
    return;
  }
  if (Tries() && !any)
    wait_ = std::min(2 * wait_, kMostWaits * trial_);
  else
    wait_ = trial_;
  idle_ = 0;
}

std::vector<double> AutoShape::State() const {
  std::vector<double> state = {accepted_, idle_, wait_};
  for (const Level& level : levels_) state.push_back(level.expected);
  return state;
}

namespace {

BuiltPolicy BuildAutoShape(ParamsReader& in, AutoOptions options) {
  const HardwareSection section = TakeHardware(in);
  in.Ensure(section.nodes <= kMostNodes, "nodes",
            absl::StrCat("must be at most ", kMostNodes,
                         ": every shape is searched for beforehand"));
  in.Ensure(section.target_ms != nullptr, "target_ms",
            "is missing: the measured milliseconds of a target pass");
  BANYAN_RETURN_IF_ERROR(in.Finish());
  BANYAN_ASSIGN_OR_RETURN(options.hardware, ReadHardware(section));
  absl::StatusOr<std::unique_ptr<AutoShape>> policy = AutoShape::Make(options);
  if (!policy.ok())
    return in.section().Error(in.what() + ": " +
                              std::string(policy.status().message()));
  return std::unique_ptr<TreePolicy>(*std::move(policy));
}

}  // namespace

PolicyRow AutoShapeRow() {
  Keys<AutoOptions> keys;
  for (const KeyRow& row : HardwareKeys()) keys.Described(row);
  keys.AtLeast("memory", &AutoOptions::memory, 1,
               "Running means are over about this many rounds.");
  keys.AtLeast("trial", &AutoOptions::trial, 1,
               "The rounds after which a shape is tried again.");
  return {
      .name = "auto",
      .sentence =
          "Each round the fastest tree, perhaps none, by the running "
          "acceptance and measured costs.",
      .keys = keys.Rows(),
      .build = keys.ReadFor(BuildAutoShape),
      .sizes = {.nodes = true, .levels = true, .width = true},
      .takes_costs = true,
      .renamed = {{"budget", "nodes"},
                  {"max_depth", "levels"},
                  {"max_branching", "width"}},
      .examples = {"{acceptance: [0.6, 0.2], nodes: 2, target_ms: {1: 1, 3: "
                   "1.2}}",
                   "{acceptance: [0.4, 0.3], nodes: 3, levels: 2, "
                   "target_ms: {1: 1, 4: 1.1}, memory: 1}"}};
}

}  // namespace banyan
