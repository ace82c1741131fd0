// What the tests of tree/optimize share: all small trees, and random inputs.
#ifndef BANYAN_TESTS_TREE_OPTIMIZE_TREES_H_
#define BANYAN_TESTS_TREE_OPTIMIZE_TREES_H_

#include <algorithm>
#include <cstddef>
#include <functional>
#include <random>
#include <utility>
#include <vector>

#include "tree/optimize/shape.h"

namespace banyan {

// Every ordered tree of up to `nodes` nodes, the root included, once: in
// depth-first order a node's parent is the node before it or an ancestor of it.
inline std::vector<Shape> AllTrees(int nodes) {
  std::vector<Shape> trees = {Shape{}};
  for (std::size_t i = 0; i < trees.size(); ++i) {
    if (trees[i].size() == nodes) continue;
    for (int parent = trees[i].size() - 1; parent >= 0;) {
      Shape grown = trees[i];
      grown.parents.push_back(parent);
      parent = grown.parents[static_cast<std::size_t>(parent)];
      trees.push_back(std::move(grown));
    }
  }
  return trees;
}

// The most children a node has.
inline int Width(const Shape& shape) {
  const std::vector<int> ranks = Ranks(shape);
  return *std::max_element(ranks.begin(), ranks.end());
}

inline double Uniform(std::mt19937_64& bits) {
  return std::uniform_real_distribution<double>(0, 1)(bits);
}

// One to eight acceptances that sum to less than 1, about a sixth of them 0.
inline std::vector<double> RandomAcceptance(std::mt19937_64& bits,
                                            bool sorted) {
  std::vector<double> result(1 + bits() % 8);
  double sum = 0;
  for (double& p : result) {
    p = bits() % 6 == 0 ? 0 : Uniform(bits);
    sum += p;
  }
  const double scale = sum > 0 ? Uniform(bits) / sum : 0;
  for (double& p : result) p *= scale;
  if (sorted) std::sort(result.begin(), result.end(), std::greater<>());
  return result;
}

}  // namespace banyan

#endif  // BANYAN_TESTS_TREE_OPTIMIZE_TREES_H_
