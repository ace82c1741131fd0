// The shape that `joint` chooses for measured drafters and machines: close to
// the best of all small shapes, and better than random large ones.
#include "tree/optimize/joint_shape.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "configs/loader/yaml.h"
#include "core/base/check.h"
#include "core/base/common.h"
#include "core/base/params.h"
#include "experiments/plan/costs.h"
#include "experiments/plan/joint_costs.h"
#include "tests/support/dice.h"
#include "tests/support/sanitized.h"
#include "tree/optimize/cost_curve.h"
#include "tree/optimize/joint_acceptance.h"
#include "tree/optimize/shape.h"

namespace banyan {
namespace {

using Labels = std::vector<std::string>;

constexpr char kTarget[] = "SmolLM2-135M-Instruct.Q4_1.gguf";

std::size_t Spot(int i) { return static_cast<std::size_t>(i); }

Costs CostsIn(const std::string& name) {
  const auto file = LoadYamlFile("configs/costs/" + name + ".yaml");
  Check(file.ok(), file.status().message());
  auto costs = ReadCosts(*file);
  Check(costs.ok(), costs.status().message());
  return *std::move(costs);
}

// Drafters of SmolLM2, as they were counted there, on a machine.
JointModel ModelOf(const std::string& machine, const Labels& labels,
                   double temperature, int nodes) {
  const Costs counted = CostsIn("smollm2");
  const Costs costs = CostsIn(machine);
  std::vector<AcceptanceTable> alone;
  JointModel model = {.nodes = nodes};
  for (const std::string& label : labels) {
    CostQuestion question = {.target = kTarget,
                             .temperature = temperature,
                             .drafter = {.label = label}};
    const AcceptanceTable* own = BestAcceptance(counted, question);
    Check(own != nullptr && own->drafters.front().label == label, label);
    question.drafter = own->drafters.front();
    alone.push_back(*own);
    // On disk no Medusa heads were measured.
    const LevelCosts* level = BestLevel(costs, question);
    model.draft_ms.push_back(level == nullptr ? 1 : level->ms);
  }
  const auto together = FindTogether(
      counted, {.target = kTarget, .temperature = temperature}, labels);
  Check(together.ok(), together.status().message());
  const JointNumbers numbers = CountJointly(alone, &*together, labels);
  model.acceptance = JointAcceptance(numbers.alone, numbers.together,
                                     numbers.agree_right, numbers.agree_wrong);
  const auto curve = CostCurve::FromMap("ms", costs.passes.front().ms);
  Check(curve.ok(), curve.status().message());
  for (int n = 0; n <= nodes; ++n) model.target_ms.push_back(*curve->At(n + 1));
  return model;
}

// Looks at every shape of up to `nodes` nodes: each next node, in depth-first
// order, is a draw of any drafter at any node of the newest path.
class AllShapes {
 public:
  explicit AllShapes(const JointModel& model) : model_(model) {
    path_.push_back(JointRoot(kDrafters));
  }

  double BestSpeed() {
    Add(0, 1);
    return best_;
  }
  long looked_at() const { return looked_at_; }

 private:
  static constexpr int kDrafters = 3;
  using Levels = std::array<int, kDrafters>;

  void Add(int nodes, double tokens) {
    if (nodes > 0) {
      ++looked_at_;
      double ms = model_.target_ms[Spot(nodes)];
      for (int d = 0; d < kDrafters; ++d)
        ms += deepest_[Spot(d)] * model_.draft_ms[Spot(d)];
      best_ = std::max(best_, tokens / ms);
    }
    if (nodes == model_.nodes) return;
    const std::vector<JointPlace> before = path_;
    const Levels levels = deepest_;
    for (std::size_t parent = 0; parent < before.size(); ++parent) {
      const int depth = static_cast<int>(parent) + 1;
      for (int d = 0; d < kDrafters; ++d) {
        if (depth > model_.acceptance.depths(d)) continue;
        path_.assign(before.begin(),
                     before.begin() + static_cast<std::ptrdiff_t>(depth));
        JointPlace child = DrawAt(path_.back(), d, model_.acceptance);
        const double reach = child.reach;
        if (reach == 0) continue;
        path_.push_back(std::move(child));
        deepest_[Spot(d)] = std::max(deepest_[Spot(d)], depth);
        Add(nodes + 1, tokens + reach);
        deepest_ = levels;
      }
    }
    path_ = before;
  }

  const JointModel& model_;
  std::vector<JointPlace> path_;
  Levels deepest_ = {};
  double best_ = 0;
  long looked_at_ = 0;
};

const char* const kMachines[] = {"smollm2_avx2", "h200_1b",
                                 "smollm2_1b_disk20"};

TEST(JointShape, IsWithinOnePercentOfTheBestOfAllSmallShapes) {
  const Labels drafters = {"suffix", "smollm2-draft-1", "smollm2-eagle3"};
  for (const char* machine : kMachines) {
    const JointModel model = ModelOf(machine, drafters, 0, kSanitized ? 6 : 8);
    AllShapes all(model);
    const double best = all.BestSpeed();
    EXPECT_GT(all.looked_at(), kSanitized ? 50'000 : 5'000'000) << machine;
    const JointShape found = FastestJointShape(model);
    const HardwareChoice choice = Predict(found, model);
    EXPECT_GE(choice.tokens_per_ms, 0.99 * best) << machine;
    EXPECT_LE(choice.tokens_per_ms, best * (1 + 1e-9)) << machine;
  }
}

// A shape of `nodes` draws at random nodes, those near the root preferred.
JointShape RandomShape(int nodes, const JointAcceptance& acceptance,
                       Dice& dice) {
  std::vector<int> parents = {-1};
  std::vector<int> depths = {0};
  std::vector<int> drafters = {-1};
  while (static_cast<int>(parents.size()) <= nodes) {
    const int size = static_cast<int>(parents.size());
    const int parent = std::min(dice.Below(size), dice.Below(size));
    const int drafter = dice.Below(acceptance.drafters());
    if (depths[Spot(parent)] >= acceptance.depths(drafter)) continue;
    parents.push_back(parent);
    depths.push_back(depths[Spot(parent)] + 1);
    drafters.push_back(drafter);
  }
  return {{parents}, drafters};
}

TEST(JointShape, IsNoWorseThanRandomLargeShapes) {
  const Labels drafters = {"suffix", "smollm2-draft-1", "smollm2-medusa",
                           "smollm2-eagle3"};
  for (const char* machine : kMachines)
    for (const double temperature : {0.0, 1.0}) {
      const JointModel model = ModelOf(machine, drafters, temperature, 64);
      const HardwareChoice choice = Predict(FastestJointShape(model), model);
      Dice dice(7);
      double best = 0;
      for (int i = 0; i < (kSanitized ? 1'000 : 10'000); ++i)
        best = std::max(best, Predict(RandomShape(1 + dice.Below(64),
                                                  model.acceptance, dice),
                                      model)
                                  .tokens_per_ms);
      EXPECT_GE(choice.tokens_per_ms, best) << machine;
      EXPECT_GT(best, 0);
    }
}

}  // namespace
}  // namespace banyan
