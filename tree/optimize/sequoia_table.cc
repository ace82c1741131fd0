#include "tree/optimize/sequoia_table.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/common.h"
#include "tree/optimize/shape.h"

namespace banyan {
namespace {

constexpr double kNoTree = -std::numeric_limits<double>::infinity();

std::size_t Slot(int index) { return static_cast<std::size_t>(index); }

// to[i] = max(to[i], from[i] + add). All the time is spent here: neighbours in
// memory and no branch, so compilers make it a vector loop.
void Raise(const double* from, double add, int count, double* to) {
  for (int i = 0; i < count; ++i) {
    const double sum = from[i] + add;
    to[i] = sum > to[i] ? sum : to[i];
  }
}

// The size of the last child's subtree that attains (3) for a root of `nodes`
// nodes: `without` is G(., d, b - 1), `below` F(., d - 1) up to `largest`.
int LastChild(const std::vector<double>& without,
              const std::vector<double>& below, int largest, double acceptance,
              int nodes) {
  double best = kNoTree;
  int size = 0;
  for (int m = 1; m <= std::min(largest, nodes - 1); ++m) {
    const double value = without[Slot(nodes - m)] + acceptance * below[Slot(m)];
    if (value > best) {
      best = value;
      size = m;
    }
  }
  Check(size > 0, "a row of the table is attained by some split");
  return size;
}

}  // namespace

absl::Status SequoiaTable::CheckSize(int nodes, std::size_t ranks, int layers) {
  const double entries = (static_cast<double>(nodes) + 1) *
                         (static_cast<double>(ranks) + 2) * layers;
  if (entries <= static_cast<double>(kMaxEntries)) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "the search over ", nodes - 1, " drafted nodes, ", ranks, " ranks and ",
      layers, " depths needs ", entries, " table entries; at most ",
      kMaxEntries, " are made: lower nodes, levels or width"));
}

SequoiaTable::SequoiaTable(std::vector<double> acceptance, int nodes)
    : acceptance_(std::move(acceptance)), nodes_(nodes) {
  Check(nodes >= 1, "a tree has a root");
  Layer root;  // (1)
  root.best.assign(Slot(nodes + 1), kNoTree);
  root.best[1] = 1;
  layers_.push_back(std::move(root));
}

// (2)
SequoiaTable::Layer SequoiaTable::EmptyLayer() const {
  Layer layer;
  layer.best.assign(Slot(nodes_ + 1), kNoTree);
  layer.rows.assign(acceptance_.size() + 1, layer.best);
  layer.rows[0][1] = 1;
  return layer;
}

// (4)
void SequoiaTable::TakeBest(int nodes, Layer& layer) const {
  for (const std::vector<double>& row : layer.rows) {
    layer.best[Slot(nodes)] =
        std::max(layer.best[Slot(nodes)], row[Slot(nodes)]);
  }
}

// (3), one m at a time for all n at once. Sizes beyond below.largest have no
// tree; they are left out, since 0 times -infinity is no number.
void SequoiaTable::Deepen() {
  const Layer& below = layers_.back();
  Layer layer = EmptyLayer();
  const int ranks = static_cast<int>(acceptance_.size());
  layer.largest = static_cast<int>(
      std::min<std::int64_t>(nodes_, 1 + std::int64_t{ranks} * below.largest));
  for (int b = 1; b <= ranks; ++b) {
    // b - 1 children need at least b nodes with their parent.
    const double* without = layer.rows[Slot(b - 1)].data() + b;
    double* with = layer.rows[Slot(b)].data() + b;
    for (int m = 1; m <= std::min(below.largest, nodes_ - b); ++m) {
      Raise(without, acceptance_[Slot(b - 1)] * below.best[Slot(m)],
            nodes_ - b - m + 1, with + m);
    }
  }
  for (int n = 1; n <= layer.largest; ++n) TakeBest(n, layer);
  layers_.push_back(std::move(layer));
}

// (3) without d: G(n, b) needs G(n - m, b - 1) and F(m) of smaller trees. When
// both are known up to t, all pairs whose larger part is t are entered: they
// reach sizes t + s for s <= t, neighbours in memory again.
void SequoiaTable::AddUnlimited() {
  unlimited_ = EmptyLayer();
  unlimited_.largest = acceptance_.empty() ? 1 : nodes_;
  // scaled[b - 1][m] = p_b F(m)
  std::vector<std::vector<double>> scaled(acceptance_.size(), unlimited_.best);
  for (int t = 1; t <= unlimited_.largest; ++t) {
    TakeBest(t, unlimited_);
    const int count = std::min(t, nodes_ - t);
    for (std::size_t b = 1; b <= acceptance_.size(); ++b) {
      std::vector<double>& child = scaled[b - 1];
      child[Slot(t)] = acceptance_[b - 1] * unlimited_.best[Slot(t)];
      const std::vector<double>& without = unlimited_.rows[b - 1];
      double* to = unlimited_.rows[b].data() + t + 1;
      Raise(without.data() + 1, child[Slot(t)], count, to);
      Raise(child.data() + 1, without[Slot(t)], count, to);
    }
  }
}

bool SequoiaTable::settled() const {
  return depth() > 0 && layers_.back().best == layers_[layers_.size() - 2].best;
}

const SequoiaTable::Layer& SequoiaTable::layer(int depth) const {
  if (depth == kUnlimited) {
    Check(!unlimited_.best.empty(), "the unlimited layer was made");
    return unlimited_;
  }
  Check(depth >= 0 && depth <= this->depth(), "the layer was made");
  return layers_[Slot(depth)];
}

double SequoiaTable::Best(int nodes, int depth) const {
  Check(nodes >= 1 && nodes <= nodes_, "the table covers the size");
  return layer(depth).best[Slot(nodes)];
}

// Returns the choices that give F(nodes, depth): subtree sizes, by rank.
std::vector<int> SequoiaTable::ChildSizes(int nodes, int depth) const {
  if (nodes == 1) return {};
  const Layer& here = layer(depth);
  const Layer& below = layer(depth == kUnlimited ? kUnlimited : depth - 1);
  std::size_t children = acceptance_.size();
  while (here.rows[children][Slot(nodes)] != here.best[Slot(nodes)]) --children;
  std::vector<int> sizes(children);
  for (std::size_t b = children; b > 0; --b) {
    sizes[b - 1] = LastChild(here.rows[b - 1], below.best, below.largest,
                             acceptance_[b - 1], nodes);
    nodes -= sizes[b - 1];
  }
  return sizes;
}

Shape SequoiaTable::Tree(int nodes, int depth) const {
  Check(Best(nodes, depth) > kNoTree, "there is a tree of this size and depth");
  struct Subtree {
    int nodes, depth, parent;
  };
  Shape shape;
  shape.parents.clear();
  std::vector<Subtree> pending = {{nodes, depth, -1}};
  while (!pending.empty()) {
    const Subtree next = pending.back();
    pending.pop_back();
    shape.parents.push_back(next.parent);
    const int self = shape.size() - 1;
    const std::vector<int> sizes = ChildSizes(next.nodes, next.depth);
    for (auto size = sizes.rbegin(); size != sizes.rend(); ++size) {
      pending.push_back(
          {*size, depth == kUnlimited ? kUnlimited : next.depth - 1, self});
    }
  }
  return shape;
}

}  // namespace banyan
