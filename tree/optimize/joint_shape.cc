#include "tree/optimize/joint_shape.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "tree/optimize/hardware.h"
#include "tree/optimize/joint_acceptance.h"
#include "tree/optimize/shape.h"

namespace banyan {
namespace {

constexpr int kMostAhead = 3;
constexpr int kMostLevels = 16;
// The least reach of a draw.
constexpr double kLeastReach = 1e-6;

std::size_t Place(int i) { return static_cast<std::size_t>(i); }

// Adds the likeliest draws one by one, for given levels of the drafters.
class Growing {
 public:
  // Draws at a node are ordered by their own gain and that of the `ahead`
  // tokens that are likeliest below them.
  Growing(const JointModel& model, absl::Span<const int> levels, int ahead)
      : model_(model), levels_(levels), ahead_(ahead) {
    Add(JointRoot(model.acceptance.drafters()));
  }

  // Returns the reach of the node that it has added; 0: none is left.
  double Next() {
    std::size_t best = 0;
    for (std::size_t i = 1; i < next_.size(); ++i)
      if (next_[i].reach > next_[best].reach) best = i;
    const Draw draw = next_[best];
    if (draw.drafter < 0) return 0;
    shape_.shape.parents.push_back(static_cast<int>(best));
    shape_.drafters.push_back(draw.drafter);
    Add(DrawAt(places_[best], draw.drafter, model_.acceptance));
    next_[best] = NextAt(places_[best]);
    return draw.reach;
  }

  // Nodes in depth-first order.
  JointShape Take() && {
    const std::vector<std::vector<int>> children = Children(shape_.shape);
    JointShape sorted;
    Visit(0, 0, children, sorted);
    return sorted;
  }

 private:
  struct Draw {
    int drafter = -1;
    double reach = 0;
  };

  void Add(JointPlace place) {
    next_.push_back(NextAt(place));
    places_.push_back(std::move(place));
  }
  Draw NextAt(const JointPlace& place) const {
    Draw best;
    double most = 0;
    for (int d = 0; d < model_.acceptance.drafters(); ++d) {
      if (levels_[Place(d)] <= place.depth) continue;
      const double reach = place.reach * NextGain(place, d, model_.acceptance);
      if (reach <= kLeastReach) continue;
      const double worth = Worth(place, d, ahead_);
      if (worth <= most) continue;
      most = worth;
      best = {d, reach};
    }
    return best;
  }
  // The reach of a drafter's next draw, and of the likeliest tokens below it.
  double Worth(const JointPlace& place, int drafter, int ahead) const {
    if (ahead == 0)
      return place.reach * NextGain(place, drafter, model_.acceptance);
    JointPlace above = place;
    const JointPlace child = DrawAt(above, drafter, model_.acceptance);
    double most = 0;
    for (int d = 0; d < model_.acceptance.drafters(); ++d)
      if (levels_[Place(d)] > child.depth)
        most = std::max(most, Worth(child, d, d == drafter ? ahead - 1 : 0));
    return child.reach + most;
  }
  void Visit(int from, int to, const std::vector<std::vector<int>>& children,
             JointShape& sorted) const {
    for (const int child : children[Place(from)]) {
      sorted.shape.parents.push_back(to);
      sorted.drafters.push_back(shape_.drafters[Place(child)]);
      Visit(child, sorted.shape.size() - 1, children, sorted);
    }
  }

  const JointModel& model_;
  const absl::Span<const int> levels_;
  const int ahead_;
  std::vector<JointPlace> places_;
  std::vector<Draw> next_;  // by place
  JointShape shape_;
};

class JointSearch {
 public:
  explicit JointSearch(const JointModel& model) : model_(model) {
    for (int d = 0; d < drafters(); ++d) {
      int most =
          std::min({model.acceptance.depths(d), model.nodes, kMostLevels});
      if (model.levels > 0) most = std::min(most, model.levels);
      most_.push_back(most);
    }
  }

  JointShape Run() {
    for (ahead_ = 0; ahead_ <= kMostAhead; ++ahead_) Search();
    Growing growing(model_, best_levels_, best_ahead_);
    for (int n = 1; n <= best_nodes_; ++n) growing.Next();
    return std::move(growing).Take();
  }

 private:
  // Two drafters at a time, others held, until no two have better numbers of
  // levels; from the best of each two alone.
  void Search() {
    speeds_.clear();
    ForEachTwo([&](int one, int other) {
      std::vector<int> levels(Place(drafters()), 0);
      Improve(one, other, levels);
      bool better = true;
      while (better) {
        better = false;
        ForEachTwo(
            [&](int d, int e) { better = Improve(d, e, levels) || better; });
      }
    });
  }
  template <typename Visit>
  void ForEachTwo(const Visit& visit) {
    for (int d = 0; d < std::max(drafters() - 1, 1); ++d)
      for (int e = std::min(d + 1, drafters() - 1); e < drafters(); ++e)
        visit(d, e);
  }

  int drafters() const { return model_.acceptance.drafters(); }

  // The most tokens a millisecond of any size.
  double Speed(const std::vector<int>& levels) {
    const auto [known, is_new] = speeds_.emplace(levels, 0);
    if (!is_new) return known->second;
    double level_ms = 0;
    for (int d = 0; d < drafters(); ++d)
      level_ms += levels[Place(d)] * model_.draft_ms[Place(d)];
    Growing growing(model_, levels, ahead_);
    double tokens = 1;
    double& most = known->second;
    for (int n = 1; n <= model_.nodes; ++n) {
      const double reach = growing.Next();
      if (reach == 0) break;
      tokens += reach;
      const double speed = tokens / (model_.target_ms[Place(n)] + level_ms);
      most = std::max(most, speed);
      if (speed <= best_) continue;
      best_ = speed;
      best_levels_ = levels;
      best_nodes_ = n;
      best_ahead_ = ahead_;
    }
    return most;
  }

  // Gives two drafters the best numbers of levels; returns whether they have
  // others now.
  bool Improve(int one, int other, std::vector<int>& levels) {
    const std::vector<int> before = levels;
    std::vector<int> best = levels;
    double most = Speed(levels);
    for (int a = 0; a <= most_[Place(one)]; ++a) {
      levels[Place(one)] = a;
      for (int b = 0; b <= most_[Place(other)]; ++b) {
        if (one != other) levels[Place(other)] = b;
        if (one == other && b > 0) break;
        const double speed = Speed(levels);
        if (speed <= most) continue;
        most = speed;
        best = levels;
      }
    }
    levels = best;
    return levels != before;
  }

  const JointModel& model_;
  std::vector<int> most_;                      // levels, by drafter
  std::map<std::vector<int>, double> speeds_;  // by levels
  double best_ = 0;
  std::vector<int> best_levels_;
  int best_nodes_ = 0;
  int ahead_ = 0;
  int best_ahead_ = 0;
};

}  // namespace

JointPlace JointRoot(int drafters) {
  JointPlace root;
  root.draws.resize(Place(drafters));
  root.standings.resize(Place(drafters));
  return root;
}

double NextGain(const JointPlace& place, int drafter,
                const JointAcceptance& acceptance) {
  return acceptance.Gain(
      drafter,
      acceptance.FadeAt(drafter, place.depth, place.standings[Place(drafter)]),
      place.draws);
}

JointPlace DrawAt(JointPlace& place, int drafter,
                  const JointAcceptance& acceptance) {
  JointPlace child = JointRoot(acceptance.drafters());
  child.reach = place.reach * NextGain(place, drafter, acceptance);
  child.depth = place.depth + 1;
  for (int d = 0; d < acceptance.drafters(); ++d) {
    const JointAcceptance::Standing& above = place.standings[Place(d)];
    // Who drew before has other tokens.
    if (d == drafter)
      child.standings[Place(d)] = JointAcceptance::BelowOwn(above);
    else if (place.draws[Place(d)] > 0)
      child.standings[Place(d)] = {.on = 0};
    else
      child.standings[Place(d)] = acceptance.BelowOther(d, above, drafter);
  }
  ++place.draws[Place(drafter)];
  return child;
}

std::vector<double> ReachOf(const JointShape& shape,
                            const JointAcceptance& acceptance) {
  std::vector<JointPlace> places = {JointRoot(acceptance.drafters())};
  std::vector<double> reach = {1};
  for (int node = 1; node < shape.shape.size(); ++node) {
    places.push_back(DrawAt(places[Place(shape.shape.parents[Place(node)])],
                            shape.drafters[Place(node)], acceptance));
    reach.push_back(places.back().reach);
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
