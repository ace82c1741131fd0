#include "tree/draft_tree.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/common.h"
#include "core/base/token.h"

namespace banyan {
namespace {

const Node& At(absl::Span<const Node> nodes, int index) {
  return nodes[static_cast<std::size_t>(index)];
}

absl::Status Broken(int invariant, int node, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(
      "draft tree, invariant ", invariant, ", node ", node, ": ", what));
}

// Invariants 1 and 2: the nodes met by walking down the children, in order,
// are 0, 1, 2, ...
absl::Status CheckOrder(absl::Span<const Node> nodes) {
  if (nodes.empty() || nodes[0].parent != Node::kNoParent ||
      nodes[0].depth != 0 || nodes[0].probe())
    return Broken(1, 0, "the root must have no parent and depth 0");
  std::vector<int> stack = {0};
  int met = 0;
  while (!stack.empty()) {
    const int index = stack.back();
    stack.pop_back();
    if (index != met++) return Broken(2, index, "not in depth-first order");
    const std::vector<int>& children = At(nodes, index).children;
    for (auto child = children.rbegin(); child != children.rend(); ++child) {
      if (*child <= index || *child >= static_cast<int>(nodes.size()))
        return Broken(2, index, "a child does not stand after its parent");
      if (At(nodes, *child).parent != index ||
          At(nodes, *child).depth != At(nodes, index).depth + 1)
        return Broken(2, *child, "parent or depth disagree with the parent");
      stack.push_back(*child);
    }
  }
  if (met != static_cast<int>(nodes.size()))
    return Broken(2, met, "not reached from the root");
  return absl::OkStatus();
}

// Invariants 6 and 7 for one draw.
absl::Status CheckMasses(int index, DrawKind draw_kind, const Draw& draw) {
  const Distribution& proposal = draw.proposal;
  const bool known = draw.token >= 0 && draw.token < proposal.vocab_size();
  const double mass = known ? proposal.Mass(draw.token) : 0;
  if (draw.dropped() && mass > 0)
    return Broken(6, index, "a dropped token still has mass");
  if (!draw.dropped() && !(mass > 0))
    return Broken(6, index, "a kept token has no mass");
  if (draw_kind != DrawKind::kDeterministic) return absl::OkStatus();
  if (draw.dropped() ? !proposal.empty()
                     : proposal.masses().size() != 1 || mass != 1)
    return Broken(7, index, "a deterministic draw is not one-hot");
  return absl::OkStatus();
}

// Invariants 6 and 7, and the half of 4 that concerns one draw.
absl::Status CheckDraw(absl::Span<const Node> nodes, int index,
                       const DrawList& list, const Draw& draw) {
  if (!draw.dropped() &&
      (draw.child <= 0 || draw.child >= static_cast<int>(nodes.size()) ||
       At(nodes, draw.child).parent != index ||
       At(nodes, draw.child).token != draw.token ||
       At(nodes, draw.child).probe()))
    return Broken(4, index, "a draw does not point to its child");
  return CheckMasses(index, list.draw_kind, draw);
}

// What the nodes checked so far say of time.
struct Times {
  std::set<int> seen;
  // By node: the number of the first draw that led to it.
  std::vector<int> made;
};

// Invariant 5.
absl::Status CheckTimes(int index, const DrawList& list, int last_trunk,
                        Times& times) {
  if (list.trunk <= last_trunk)
    return Broken(5, index, "draw lists are not one a trunk, in order");
  for (std::size_t i = 0; i < list.draws.size(); ++i) {
    if (i > 0 && list.draws[i].time <= list.draws[i - 1].time)
      return Broken(5, index, "a draw list is not in the order of time");
    if (!times.seen.insert(list.draws[i].time).second)
      return Broken(5, index, "two draws have one number in time");
    if (list.draws[i].time < times.made[static_cast<std::size_t>(index)])
      return Broken(5, index, "a draw was made before its node");
  }
  return absl::OkStatus();
}

// Invariants 3 to 8 at one node.
absl::Status CheckDraws(absl::Span<const Node> nodes, int index, Times& times) {
  const Node& node = At(nodes, index);
  if (node.probe() && !node.lists.empty())
    return Broken(8, index, "a probe has draws");
  if (!node.probe() && node.vector != nullptr)
    return Broken(8, index, "a node that is no probe has a vector");
  int last_trunk = -1;
  for (const DrawList& list : node.lists) {
    BANYAN_RETURN_IF_ERROR(CheckTimes(index, list, last_trunk, times));
    last_trunk = list.trunk;
    for (const Draw& draw : list.draws)
      BANYAN_RETURN_IF_ERROR(CheckDraw(nodes, index, list, draw));
  }
  std::vector<int> drawn;  // children, by the first draw that led to them
  for (const Draw* draw : DrawsInTime(node)) {
    if (draw->dropped() ||
        std::find(drawn.begin(), drawn.end(), draw->child) != drawn.end())
      continue;
    drawn.push_back(draw->child);
    times.made[static_cast<std::size_t>(draw->child)] = draw->time;
  }
  std::set<TokenId> tokens;
  for (std::size_t i = 0; i < node.children.size(); ++i) {
    const Node& child = At(nodes, node.children[i]);
    if (child.probe()) continue;
    if (node.probe()) return Broken(8, index, "a probe has a drawn child");
    if (!tokens.insert(child.token).second)
      return Broken(3, index, "two children with one token");
    if (std::find(drawn.begin(), drawn.end(), node.children[i]) == drawn.end())
      return Broken(4, node.children[i], "no draw leads to it");
    if (i >= drawn.size() || drawn[i] != node.children[i])
      return Broken(2, index, "children are not in the order of their draws");
  }
  return absl::OkStatus();
}

}  // namespace

absl::string_view Name(DrawKind draw_kind) {
  switch (draw_kind) {
    case DrawKind::kIndependent:
      return "independent";
    case DrawKind::kWithoutReplacement:
      return "without_replacement";
    case DrawKind::kDeterministic:
      return "deterministic";
  }
  return "";
}

std::vector<DrawKind> EveryDrawKind() {
  return {kDrawKinds.begin(), kDrawKinds.end()};
}

std::vector<const Draw*> DrawsInTime(const Node& node) {
  std::vector<const Draw*> draws;
  for (const DrawList& list : node.lists)
    for (const Draw& draw : list.draws) draws.push_back(&draw);
  if (node.lists.size() > 1)
    std::stable_sort(
        draws.begin(), draws.end(),
        [](const Draw* a, const Draw* b) { return a->time < b->time; });
  return draws;
}

absl::Status CheckInvariants(absl::Span<const Node> nodes) {
  BANYAN_RETURN_IF_ERROR(CheckOrder(nodes));
  Times times = {.seen = {}, .made = std::vector<int>(nodes.size(), 0)};
  for (int i = 0; i < static_cast<int>(nodes.size()); ++i)
    BANYAN_RETURN_IF_ERROR(CheckDraws(nodes, i, times));
  return absl::OkStatus();
}

DraftTree::DraftTree(std::vector<Node> nodes) : nodes_(std::move(nodes)) {
  Check(!nodes_.empty(), "a draft tree has a root");
}

int DraftTree::Child(int parent, TokenId token) const {
  for (int child : node(parent).children)
    if (node(child).token == token && !node(child).probe()) return child;
  return -1;
}

int DraftTree::Height() const {
  int height = 0;
  for (const Node& node : nodes_)
    if (!node.probe()) height = std::max(height, node.depth);
  return height;
}

int DraftTree::Drafted() const {
  int drafted = -1;  // the root is no probe
  for (const Node& node : nodes_) drafted += node.probe() ? 0 : 1;
  return drafted;
}

}  // namespace banyan
