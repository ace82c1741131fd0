#include "tree/merge.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "core/base/check.h"
#include "core/base/token.h"
#include "tree/draft_tree.h"
#include "tree/trunk_tree.h"

namespace banyan {
namespace {

std::size_t Index(int i) { return static_cast<std::size_t>(i); }

// A merged node under construction, with the node of each trunk it stands for.
struct Place {
  Node node;
  std::vector<int> locals;  // -1: this trunk has no such node
};

class Merger {
 public:
  explicit Merger(absl::Span<const TrunkTree> trunks) : trunks_(trunks) {
    places_.push_back({.node = {.token = trunks[0].node(0).token},
                       .locals = std::vector<int>(trunks.size(), 0)});
  }

  std::vector<Node> Run() {
    for (std::size_t i = 0; i < places_.size(); ++i) {
      AddLists(i);
      for (std::size_t t = 0; t < trunks_.size(); ++t) AddProbes(i, t);
    }
    return InDepthFirstOrder();
  }

 private:
  int AddPlace(std::size_t parent, const Node& like) {
    const int index = static_cast<int>(places_.size());
    places_.push_back({.node = {.token = like.token,
                                .parent = static_cast<int>(parent),
                                .depth = places_[parent].node.depth + 1,
                                .probe_of = like.probe_of,
                                .vector = like.vector},
                       .locals = std::vector<int>(trunks_.size(), -1)});
    places_[parent].node.children.push_back(index);
    return index;
  }

  // The merged child for a token: made at the first draw that leads to it.
  int MergedChild(std::size_t place, TokenId token) {
    for (int child : places_[place].node.children)
      if (places_[Index(child)].node.token == token) return child;
    const int child = AddPlace(place, {.token = token});
    for (std::size_t t = 0; t < trunks_.size(); ++t) {
      const int local = places_[place].locals[t];
      if (local < 0) continue;
      for (int other : trunks_[t].node(local).children) {
        const Node& node = trunks_[t].node(other);
        if (node.token == token && !node.probe())
          places_[Index(child)].locals[t] = other;
      }
    }
    return child;
  }

  // Makes the children in the order of time of the draws that led to them.
  void AddLists(std::size_t place) {
    Node lists;  // as the trunks have them
    for (std::size_t t = 0; t < trunks_.size(); ++t) {
      const int local = places_[place].locals[t];
      if (local < 0) continue;
      for (const DrawList& list : trunks_[t].node(local).lists)
        lists.lists.push_back(list);
    }
    for (const Draw* draw : DrawsInTime(lists))
      if (!draw->dropped()) MergedChild(place, draw->token);
    for (DrawList& list : lists.lists)
      for (Draw& draw : list.draws)
        if (!draw.dropped()) draw.child = MergedChild(place, draw.token);
    places_[place].node.lists = std::move(lists.lists);
  }

  void AddProbes(std::size_t place, std::size_t t) {
    const int local = places_[place].locals[t];
    if (local < 0) return;
    for (int child : trunks_[t].node(local).children) {
      if (!trunks_[t].node(child).probe()) continue;
      const int added = AddPlace(place, trunks_[t].node(child));
      places_[Index(added)].locals[t] = child;
    }
  }

  std::vector<Node> InDepthFirstOrder() {
    std::vector<int> order;
    std::vector<int> renamed(places_.size());
    std::vector<int> stack = {0};
    while (!stack.empty()) {
      const int index = stack.back();
      stack.pop_back();
      renamed[Index(index)] = static_cast<int>(order.size());
      order.push_back(index);
      const std::vector<int>& children = places_[Index(index)].node.children;
      stack.insert(stack.end(), children.rbegin(), children.rend());
    }
    std::vector<Node> nodes;
    for (int index : order) {
      Node& node = places_[Index(index)].node;
      if (node.parent != Node::kNoParent)
        node.parent = renamed[Index(node.parent)];
      for (int& child : node.children) child = renamed[Index(child)];
      for (DrawList& list : node.lists)
        for (Draw& draw : list.draws)
          if (!draw.dropped()) draw.child = renamed[Index(draw.child)];
      nodes.push_back(std::move(node));
    }
    return nodes;
  }

  absl::Span<const TrunkTree> trunks_;
  std::vector<Place> places_;
};

}  // namespace

DraftTree Merge(absl::Span<const TrunkTree> trunks) {
  Check(!trunks.empty(), "nothing to merge");
  return DraftTree(Merger(trunks).Run());
}

}  // namespace banyan
