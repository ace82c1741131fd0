// The tries of branches as a map of all beginnings that is looked through for
// everything, for tests to compare with.
#ifndef BANYAN_TESTS_DRAFTERS_TEXT_NAIVE_TRIE_H_
#define BANYAN_TESTS_DRAFTERS_TEXT_NAIVE_TRIE_H_

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "core/base/token.h"

namespace banyan {

using Path = std::vector<TokenId>;

class NaiveTrie {
 public:
  struct Counts {
    double prompt = 0;
    double output = 0;
    // When it came to be worth what it is, by the mix and by outputs.
    int since = 0;
    int output_since = 0;
  };

  double Mix(const Path& path) const {
    const Counts& counts = nodes.at(path);
    return (1 - 1e-4) * counts.prompt + 1e-4 * counts.output;
  }

  void Put(const Path& branch, bool prompt) {
    for (std::size_t size = 1; size <= branch.size(); ++size) {
      Counts& counts = nodes[{branch.begin(), branch.begin() + size}];
      (prompt ? counts.prompt : counts.output) += 1;
      counts.since = ++time_;
      if (!prompt) counts.output_since = time_;
    }
  }

  // What comes below a path, the best first: by the counts of outputs, or by
  // the mix.
  std::vector<Path> Children(const Path& path, bool by_output) const {
    std::vector<std::pair<std::pair<double, int>, Path>> children;
    for (const auto& [child, counts] : nodes)
      if (child.size() == path.size() + 1 &&
          std::equal(path.begin(), path.end(), child.begin()) &&
          (!by_output || counts.output > 0))
        children.push_back({{by_output ? -counts.output : -Mix(child),
                             by_output ? counts.output_since : counts.since},
                            child});
    std::sort(children.begin(), children.end());
    std::vector<Path> sorted;
    for (const auto& child : children) sorted.push_back(child.second);
    return sorted;
  }

  // The best `count` nodes below a path, in addition to those in `chosen`
  // already.
  void Choose(const Path& below, bool by_output, std::size_t depth,
              std::size_t count, std::set<Path>& chosen) const {
    // By worth, depth and number, as they are found.
    std::map<std::pair<std::pair<double, int>, int>, Path> found;
    int number = 0;
    const auto find = [&](const Path& parent, std::size_t place) {
      const std::vector<Path> children = Children(parent, by_output);
      if (place >= children.size()) return;
      const Path& child = children[place];
      const double worth = by_output ? nodes.at(child).output : Mix(child);
      found[{{-worth, -static_cast<int>(child.size())}, number++}] = child;
    };
    find(below, 0);
    while (!found.empty() && chosen.size() < count) {
      const Path next = found.begin()->second;
      found.erase(found.begin());
      chosen.insert(next);
      const Path parent(next.begin(), next.end() - 1);
      const std::vector<Path> siblings = Children(parent, by_output);
      find(parent, static_cast<std::size_t>(
                       std::find(siblings.begin(), siblings.end(), next) -
                       siblings.begin()) +
                       1);
      if (next.size() - below.size() < depth) find(next, 0);
    }
  }

  // Halves, and drops what was counted once or less with all below, and what
  // is no output's. Gives how many went.
  int Prune() {
    std::map<Path, Counts> kept;
    for (const auto& [path, counts] : nodes) {
      const bool above =
          path.size() == 1 || kept.count({path.begin(), path.end() - 1}) == 1;
      if (above && (path.size() == 1 || counts.output > 1))
        kept[path] = {0, counts.output / 2, counts.since, counts.output_since};
    }
    const auto dropped = static_cast<int>(nodes.size() - kept.size());
    nodes = std::move(kept);
    return dropped;
  }

  // Without the first token itself.
  int size() const { return static_cast<int>(nodes.size()) - 1; }

  // By the path from the first token on, which is one of them.
  std::map<Path, Counts> nodes;

 private:
  int time_ = 0;
};

}  // namespace banyan

#endif  // BANYAN_TESTS_DRAFTERS_TEXT_NAIVE_TRIE_H_
