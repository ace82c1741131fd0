#include "tree/optimize/shape.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/common.h"

namespace banyan {
namespace {

// Acceptances are measured shares; their sum may exceed 1 by rounding only.
constexpr double kSumSlack = 1e-9;

std::string Text(absl::Span<const int> path) {
  return absl::StrCat("[", absl::StrJoin(path, ", "), "]");
}

template <typename... Parts>
absl::Status BadPath(absl::Span<const int> path, const Parts&... parts) {
  return absl::InvalidArgumentError(
      absl::StrCat("path ", Text(path), " ", parts...));
}

// `previous` stands before `path` in lexicographic order. All that stand
// between a path and its prefix begin with that prefix, so the prefix is there
// if the previous path begins with it.
absl::Status CheckPath(absl::Span<const int> path,
                       absl::Span<const int> previous) {
  if (path.empty()) return BadPath(path, "is the root, which is implied");
  for (int rank : path) {
    if (rank < 0) return BadPath(path, "has the negative rank ", rank);
  }
  if (path == previous) return BadPath(path, "is given twice");
  const absl::Span<const int> prefix = path.first(path.size() - 1);
  if (previous.first(std::min(previous.size(), prefix.size())) != prefix) {
    return BadPath(path, "has no parent: ", Text(prefix), " is missing");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Shape> Shape::FromPaths(std::vector<std::vector<int>> paths) {
  std::sort(paths.begin(), paths.end());
  Shape shape;
  std::vector<int> children = {0};  // how many each node has so far
  std::vector<int> trail = {0};     // the nodes of the previous path
  std::vector<int> previous;
  for (std::vector<int>& path : paths) {
    BANYAN_RETURN_IF_ERROR(CheckPath(path, previous));
    trail.resize(path.size());
    int& siblings = children[static_cast<std::size_t>(trail.back())];
    if (path.back() != siblings) {
      std::vector<int> missing = path;
      missing.back() = siblings;
      return BadPath(path, "skips a rank: ", Text(missing), " is missing");
    }
    ++siblings;
    shape.parents.push_back(trail.back());
    trail.push_back(shape.size() - 1);
    children.push_back(0);
    previous = std::move(path);
  }
  return shape;
}

Shape Shape::FromParents(absl::Span<const int> parents) {
  Check(!parents.empty() && parents[0] == -1, "node 0 is the root");
  std::vector<std::vector<int>> children(parents.size());
  for (std::size_t i = 1; i < parents.size(); ++i) {
    Check(parents[i] >= 0 && static_cast<std::size_t>(parents[i]) < i,
          "parents come before children");
    children[static_cast<std::size_t>(parents[i])].push_back(
        static_cast<int>(i));
  }
  Shape shape;
  shape.parents.clear();
  std::vector<std::pair<int, int>> pending = {{0, -1}};  // node, new parent
  while (!pending.empty()) {
    const auto [node, parent] = pending.back();
    pending.pop_back();
    shape.parents.push_back(parent);
    const std::vector<int>& below = children[static_cast<std::size_t>(node)];
    for (auto child = below.rbegin(); child != below.rend(); ++child) {
      pending.emplace_back(*child, shape.size() - 1);
    }
  }
  return shape;
}

Shape Shape::Chain(int nodes) {
  Check(nodes >= 0, "a chain has no negative length");
  Shape shape;
  shape.parents.resize(static_cast<std::size_t>(nodes) + 1);
  std::iota(shape.parents.begin(), shape.parents.end(), -1);
  return shape;
}

absl::StatusOr<Shape> Shape::FromBranching(absl::Span<const int> branching) {
  std::vector<int> parents = {-1};
  std::int64_t first = 0;  // of the level above
  for (const int count : branching) {
    if (count < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("branching ", Text(branching), ": ", count,
                       " children a node; expected at least 1"));
    }
    const auto end = static_cast<std::int64_t>(parents.size());
    // Both factors fit in 31 bits.
    if (end + (end - first) * count > kMaxNodes) {
      return absl::InvalidArgumentError(
          absl::StrCat("branching ", Text(branching), " asks for more than ",
                       kMaxNodes, " nodes"));
    }
    for (; first < end; ++first) {
      parents.insert(parents.end(), static_cast<std::size_t>(count),
                     static_cast<int>(first));
    }
  }
  return FromParents(parents);
}

std::vector<int> Depths(const Shape& shape) {
  std::vector<int> depths = {0};
  for (int node = 1; node < shape.size(); ++node) {
    const int parent = shape.parents[static_cast<std::size_t>(node)];
    depths.push_back(depths[static_cast<std::size_t>(parent)] + 1);
  }
  return depths;
}

std::vector<int> Ranks(const Shape& shape) {
  std::vector<int> ranks = {0};
  std::vector<int> children(shape.parents.size());
  for (int node = 1; node < shape.size(); ++node) {
    const int parent = shape.parents[static_cast<std::size_t>(node)];
    ranks.push_back(++children[static_cast<std::size_t>(parent)]);
  }
  return ranks;
}

std::vector<std::vector<int>> Children(const Shape& shape) {
  std::vector<std::vector<int>> children(shape.parents.size());
  for (int node = 1; node < shape.size(); ++node) {
    const int parent = shape.parents[static_cast<std::size_t>(node)];
    children[static_cast<std::size_t>(parent)].push_back(node);
  }
  return children;
}

int Height(const Shape& shape) {
  const std::vector<int> depths = Depths(shape);
  return *std::max_element(depths.begin(), depths.end());
}

std::vector<std::vector<int>> ToPaths(const Shape& shape) {
  const std::vector<int> depths = Depths(shape);
  const std::vector<int> ranks = Ranks(shape);
  std::vector<std::vector<int>> paths;
  std::vector<int> path;
  for (std::size_t node = 1; node < shape.parents.size(); ++node) {
    path.resize(static_cast<std::size_t>(depths[node]) - 1);
    path.push_back(ranks[node] - 1);
    paths.push_back(path);
  }
  return paths;
}

absl::Status CheckAcceptance(absl::Span<const double> acceptance,
                             absl::string_view what) {
  double sum = 0;
  for (std::size_t i = 0; i < acceptance.size(); ++i) {
    if (!(acceptance[i] >= 0 && acceptance[i] <= 1)) {  // NaN fails too
      return absl::InvalidArgumentError(
          absl::StrCat(what, " of rank ", i + 1, " is ", acceptance[i],
                       "; expected a probability"));
    }
    sum += acceptance[i];
  }
  if (sum > 1 + kSumSlack) {
    return absl::InvalidArgumentError(absl::StrCat(
        what, " sums to ", sum, "; expected at most 1, since at most one rank ",
        "is accepted"));
  }
  return absl::OkStatus();
}

std::vector<double> PathProbabilities(const Shape& shape,
                                      absl::Span<const double> acceptance) {
  const std::vector<int> ranks = Ranks(shape);
  std::vector<double> result = {1};
  for (std::size_t node = 1; node < shape.parents.size(); ++node) {
    const auto rank = static_cast<std::size_t>(ranks[node]);
    const double accepted =
        rank <= acceptance.size() ? acceptance[rank - 1] : 0;
    const auto parent = static_cast<std::size_t>(shape.parents[node]);
    result.push_back(result[parent] * accepted);
  }
  return result;
}

double ExpectedTokens(const Shape& shape, absl::Span<const double> acceptance) {
  const std::vector<double> paths = PathProbabilities(shape, acceptance);
  return std::accumulate(paths.begin(), paths.end(), 0.0);
}

}  // namespace banyan
