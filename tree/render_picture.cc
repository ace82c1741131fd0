// From trees to pictures: what a reader wants to know of each node.
#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "core/base/common.h"
#include "tree/draft_tree.h"
#include "tree/optimize/shape.h"
#include "tree/render.h"

namespace banyan {
namespace {

// Three digits tell apart what a picture can show.
std::string Short(double value) { return absl::StrFormat("%.3g", value); }

// Which of a list's draws led to a node, and with what mass each.
std::string DrawsTo(const DrawList& list, int node, TokenId token) {
  std::vector<std::string> numbers;
  std::vector<std::string> masses;
  for (std::size_t i = 0; i < list.draws.size(); ++i) {
    if (list.draws[i].child != node) continue;
    numbers.push_back(absl::StrCat(i + 1));
    masses.push_back(Short(list.draws[i].proposal.Mass(token)));
  }
  if (numbers.empty()) return "";
  // Repeated draws have one mass, unless a threshold moved between them.
  const bool same = std::count(masses.begin(), masses.end(), masses[0]) ==
                    static_cast<std::ptrdiff_t>(masses.size());
  if (same) masses.resize(1);
  return absl::StrCat(numbers.size() == 1 ? "draw " : "draws ",
                      absl::StrJoin(numbers, ", "), ": q ",
                      absl::StrJoin(masses, ", "));
}

void AddDropped(const DrawList& list, std::vector<std::string>& lines) {
  for (std::size_t i = 0; i < list.draws.size(); ++i) {
    const Draw& draw = list.draws[i];
    if (!draw.dropped()) continue;
    lines.push_back(absl::StrCat("trunk ", list.trunk, " draw ", i + 1,
                                 " dropped: ", draw.token));
  }
}

std::string Note(const DraftTree& tree, int index) {
  const Node& node = tree.node(index);
  std::vector<std::string> lines;
  if (node.probe()) {
    lines.push_back(absl::StrCat(
        node.vector == nullptr ? "probe of trunk " : "vector of trunk ",
        node.probe_of));
  } else if (index > 0) {
    for (const DrawList& list : tree.node(node.parent).lists) {
      const std::string draws = DrawsTo(list, index, node.token);
      if (draws.empty()) continue;
      lines.push_back(absl::StrCat("trunk ", list.trunk, " ",
                                   Name(list.draw_kind),
                                   list.shared_draws ? ", shared" : ""));
      lines.push_back(draws);
    }
  }
  for (const DrawList& list : node.lists) AddDropped(list, lines);
  return absl::StrJoin(lines, "\n");
}

std::string Probes(int count) {
  if (count == 0) return "";
  return absl::StrCat(", ", count, count == 1 ? " probe" : " probes");
}

std::string Size(int drafted, int depth) {
  return absl::StrCat(drafted,
                      drafted == 1 ? " node, depth " : " nodes, depth ", depth);
}

}  // namespace

TreePicture Picture(const DraftTree& tree) {
  TreePicture picture;
  for (int i = 0; i < tree.size(); ++i) {
    picture.parents.push_back(tree.node(i).parent);
    picture.labels.push_back(absl::StrCat(tree.node(i).token));
    picture.notes.push_back(Note(tree, i));
  }
  picture.marked.resize(picture.parents.size());
  picture.title = absl::StrCat(Size(tree.Drafted(), tree.Height()),
                               Probes(tree.size() - 1 - tree.Drafted()));
  return picture;
}

TreePicture Picture(const Shape& shape, absl::Span<const double> acceptance) {
  TreePicture picture;
  picture.parents = shape.parents;
  for (const int rank : Ranks(shape)) {
    picture.labels.push_back(rank == 0 ? "root" : absl::StrCat(rank));
  }
  for (const double probability : PathProbabilities(shape, acceptance)) {
    picture.notes.push_back(Short(probability));
  }
  picture.marked.resize(picture.parents.size());
  picture.title =
      absl::StrCat(Size(shape.size() - 1, Height(shape)), ", ",
                   absl::StrFormat("%.4g", ExpectedTokens(shape, acceptance)),
                   " expected tokens");
  return picture;
}

}  // namespace banyan
