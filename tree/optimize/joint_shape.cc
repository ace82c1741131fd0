#include "tree/optimize/joint_shape.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "tree/optimize/hardware.h"
#include "tree/optimize/joint_acceptance.h"
#include "tree/optimize/shape.h"

namespace banyan {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();
// Draws at a node at most, and the least gain of the last.
constexpr int kMostChildren = 24;
constexpr double kLeastDraw = 1e-6;

std::size_t Place(int i) { return static_cast<std::size_t>(i); }

// A draw at a node.
struct Option {
  int drafter;
  double gain;
};

// The best shapes of all sizes, for given levels of the drafters.
class JointTable {
 public:
  JointTable(const JointModel& model, absl::Span<const int> levels)
      : nodes_(model.nodes) {
    int deepest = 0;
    for (const int own : levels) deepest = std::max(deepest, own);
    layers_.resize(Place(deepest) + 1);
    layers_[Place(deepest)].best.assign(Place(nodes_) + 1, kNever);
    layers_[Place(deepest)].best[0] = 0;
    for (int depth = deepest - 1; depth >= 0; --depth)
      Fill(depth, OrderAt(model, levels, depth));
  }

  double Best(int nodes) const { return layers_.front().best[Place(nodes)]; }
  JointShape Tree(int nodes) const {
    JointShape tree;
    Grow(0, 0, nodes, tree);
    return tree;
  }

 private:
  // Of the nodes below one of a depth.
  struct Layer {
    std::vector<Option> order;           // of the draws
    std::vector<double> best;            // by nodes: F
    std::vector<int> children;           // by nodes: b of (4)
    std::vector<std::vector<int>> last;  // by b and nodes: m of (3)
  };

  static std::vector<Option> OrderAt(const JointModel& model,
                                     absl::Span<const int> levels, int depth) {
    std::vector<int> draws(levels.size(), 0);
    std::vector<Option> order;
    while (static_cast<int>(order.size()) <
           std::min(kMostChildren, model.nodes)) {
      Option best = {-1, kLeastDraw};
      for (int d = 0; d < static_cast<int>(levels.size()); ++d) {
        if (levels[Place(d)] <= depth) continue;
        const double gain = model.acceptance.Gain(d, depth + 1, draws);
        if (gain > best.gain) best = {d, gain};
      }
      if (best.drafter < 0) break;
      order.push_back(best);
      ++draws[Place(best.drafter)];
    }
    return order;
  }

  void Fill(int depth, std::vector<Option> order) {
    const std::vector<double>& below = layers_[Place(depth) + 1].best;
    Layer& layer = layers_[Place(depth)];
    layer.order = std::move(order);
    layer.best.assign(Place(nodes_) + 1, kNever);
    layer.children.assign(Place(nodes_) + 1, 0);
    layer.best[0] = 0;
    std::vector<double> before(Place(nodes_) + 1, kNever);
    before[0] = 0;
    for (std::size_t b = 0; b < layer.order.size(); ++b) {
      std::vector<double> now(Place(nodes_) + 1, kNever);
      std::vector<int>& last = layer.last.emplace_back(Place(nodes_) + 1, 0);
      for (int n = 1; n <= nodes_; ++n)
        for (int m = 1; m <= n; ++m) {
          const double value = before[Place(n - m)] +
                               layer.order[b].gain * (1 + below[Place(m - 1)]);
          if (value <= now[Place(n)]) continue;
          now[Place(n)] = value;
          last[Place(n)] = m;
        }
      for (int n = 1; n <= nodes_; ++n) {
        if (now[Place(n)] <= layer.best[Place(n)]) continue;
        layer.best[Place(n)] = now[Place(n)];
        layer.children[Place(n)] = static_cast<int>(b) + 1;
      }
      before = std::move(now);
    }
  }

  // Adds `nodes` nodes below `parent`, depth first.
  void Grow(int depth, int parent, int nodes, JointShape& tree) const {
    const Layer& layer = layers_[Place(depth)];
    std::vector<int> sizes;
    for (int b = nodes == 0 ? 0 : layer.children[Place(nodes)]; b > 0; --b) {
      sizes.insert(sizes.begin(), layer.last[Place(b) - 1][Place(nodes)]);
      nodes -= sizes.front();
    }
    for (std::size_t b = 0; b < sizes.size(); ++b) {
      tree.shape.parents.push_back(parent);
      tree.drafters.push_back(layer.order[b].drafter);
      Grow(depth + 1, tree.shape.size() - 1, sizes[b] - 1, tree);
    }
  }

  const int nodes_;
  std::vector<Layer> layers_;  // by depth of the node
};

class JointSearch {
 public:
  explicit JointSearch(const JointModel& model) : model_(model) {
    for (int d = 0; d < drafters(); ++d) {
      int most = std::min(model.acceptance.depths(d), model.nodes);
      if (model.levels > 0) most = std::min(most, model.levels);
      most_.push_back(most);
    }
  }

  JointShape Run() {
    const std::vector<int> none(Place(drafters()), 0);
    std::vector<std::vector<int>> starts = {none};
    for (int d = 0; d < drafters(); ++d) {
      starts.push_back(none);
      Improve(d, starts.back());
    }
    for (std::vector<int>& levels : starts) {
      bool better = true;
      while (better) {
        better = false;
        for (int d = 0; d < drafters(); ++d)
          better = Improve(d, levels) || better;
      }
    }
    return JointTable(model_, best_levels_).Tree(best_nodes_);
  }

 private:
  int drafters() const { return model_.acceptance.drafters(); }

  // The most tokens a millisecond of any size.
  double Speed(absl::Span<const int> levels) {
    double level_ms = 0;
    for (int d = 0; d < drafters(); ++d)
      level_ms += levels[Place(d)] * model_.draft_ms[Place(d)];
    const JointTable table(model_, levels);
    double most = 0;
    for (int n = 1; n <= model_.nodes; ++n) {
      const double speed =
          (1 + table.Best(n)) / (model_.target_ms[Place(n)] + level_ms);
      most = std::max(most, speed);
      if (speed <= best_) continue;
      best_ = speed;
      best_levels_.assign(levels.begin(), levels.end());
      best_nodes_ = n;
    }
    return most;
  }

  // Gives one drafter the best number of levels; returns whether it has
  // another one now.
  bool Improve(int drafter, std::vector<int>& levels) {
    const int before = levels[Place(drafter)];
    double most = Speed(levels);
    int best = before;
    for (int own = 0; own <= most_[Place(drafter)]; ++own) {
      levels[Place(drafter)] = own;
      const double speed = own == before ? 0 : Speed(levels);
      if (speed <= most) continue;
      most = speed;
      best = own;
    }
    levels[Place(drafter)] = best;
    return best != before;
  }

  const JointModel& model_;
  std::vector<int> most_;  // levels, by drafter
  double best_ = 0;
  std::vector<int> best_levels_;
  int best_nodes_ = 0;
};

}  // namespace

std::vector<double> ReachOf(const JointShape& shape,
                            const JointAcceptance& acceptance) {
  const std::vector<int> depths = Depths(shape.shape);
  std::vector<double> reach(depths.size(), 1);
  std::vector<std::vector<int>> draws(
      depths.size(), std::vector<int>(Place(acceptance.drafters()), 0));
  for (std::size_t node = 1; node < depths.size(); ++node) {
    const std::size_t parent = Place(shape.shape.parents[node]);
    const int drafter = shape.drafters[node];
    reach[node] =
        reach[parent] * acceptance.Gain(drafter, depths[node], draws[parent]);
    ++draws[parent][Place(drafter)];
  }
  return reach;
}

std::vector<int> LevelsOf(const JointShape& shape, int drafters) {
  const std::vector<int> depths = Depths(shape.shape);
  std::vector<int> levels(Place(drafters), 0);
  for (std::size_t node = 1; node < depths.size(); ++node) {
    int& own = levels[Place(shape.drafters[node])];
    own = std::max(own, depths[node]);
  }
  return levels;
}

HardwareChoice Predict(const JointShape& shape, const JointModel& model) {
  HardwareChoice choice = {.shape = shape.shape,
                           .nodes = shape.shape.size() - 1,
                           .levels = Height(shape.shape),
                           .expected_tokens = 0};
  for (const double reach : ReachOf(shape, model.acceptance))
    choice.expected_tokens += reach;
  choice.round_ms = model.target_ms[Place(choice.nodes)];
  const std::vector<int> levels = LevelsOf(shape, model.acceptance.drafters());
  for (std::size_t d = 0; d < levels.size(); ++d)
    choice.round_ms += levels[d] * model.draft_ms[d];
  choice.tokens_per_ms = choice.expected_tokens / choice.round_ms;
  choice.speedup = choice.tokens_per_ms * model.target_ms.front();
  return choice;
}

JointShape FastestJointShape(const JointModel& model) {
  return JointSearch(model).Run();
}

}  // namespace banyan
