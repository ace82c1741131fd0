#include "drafters/text/suffix/suffix_tree.h"

#include <algorithm>

#include "core/base/check.h"

namespace banyan {

SuffixTree::SuffixTree(int depth) : depth_(depth), nodes_(1) {
  Check(depth >= 1, "passages of at least one token");
}

// The longest suffix first: while it is extended, the next shorter one still
// ends at a node of its own.
void SuffixTree::Append(TokenId token) {
  tokens_.push_back(token);
  active_.insert(active_.begin(), 0);
  if (static_cast<int>(active_.size()) > depth_) active_.pop_back();
  for (std::size_t i = active_.size(); i-- > 0;)
    active_[i] = Extend(active_[i], token);
}

void SuffixTree::EndText() {
  ends_.push_back(read());
  active_.clear();
}

void SuffixTree::DropOldest() {
  Check(!ends_.empty(), "a text that has ended");
  const std::int64_t end = ends_.front();
  for (std::int64_t start = dropped_; start < end; ++start)
    TakeBack(start, std::min(start + depth_, end));
  tokens_.erase(tokens_.begin(), tokens_.begin() + (end - dropped_));
  dropped_ = end;
  ends_.pop_front();
}

bool SuffixTree::Step(TokenId token, Place& place) const {
  const Node& node = nodes_[At(place.node)];
  if (place.length < node.length) {
    if (TokenAt(node.start + place.length) != token) return false;
    ++place.length;
    return true;
  }
  const int child = Child(place.node, token);
  if (child < 0) return false;
  place = {child, 1};
  return true;
}

void SuffixTree::Children(int node, int least,
                          std::vector<int>& children) const {
  children.clear();
  for (int child = nodes_[At(node)].first;
       child >= 0 && nodes_[At(child)].count >= least;
       child = nodes_[At(child)].next)
    children.push_back(child);
  std::sort(children.begin(), children.end(), [this](int a, int b) {
    const Node& left = nodes_[At(a)];
    const Node& right = nodes_[At(b)];
    return left.count != right.count ? left.count > right.count
                                     : left.start > right.start;
  });
}

int SuffixTree::Child(int node, TokenId token) const {
  if (nodes_[At(node)].first < 0) return -1;
  const auto found = children_.find({node, token});
  return found == children_.end() ? -1 : found->second;
}

void SuffixTree::SetChild(int node, int child) {
  nodes_[At(child)].parent = node;
  children_[{node, nodes_[At(child)].token}] = child;
}

// One of the suffixes that end at `node` goes on with the token read last; the
// node at which it ends then.
int SuffixTree::Extend(int node, TokenId token) {
  int child = Child(node, token);
  const Node& own = nodes_[At(node)];
  if (child < 0) {
    const bool alone = node != 0 && own.count == 1;
    if (!alone) return AddLeaf(node, read() - 1);
    ++nodes_[At(node)].length;
    return node;
  }
  // Whoever else came to the node went on to the child: without this suffix
  // nothing ends here.
  const bool last = node != 0 && own.count == nodes_[At(child)].count + 1;
  if (last && nodes_[At(child)].length == 1) {
    ++nodes_[At(child)].count;
    nodes_[At(child)].start = read() - 1;
    TakePlaceOf(node, child);
    return child;
  }
  if (last) {  // the end of one edge moves down the next
    children_.erase({node, token});
    ++nodes_[At(node)].length;
    Node& below = nodes_[At(child)];
    ++below.start;
    --below.length;
    below.token = TokenAt(below.start);
    SetChild(node, child);
    return node;
  }
  if (nodes_[At(child)].length > 1) child = SplitOff(child);
  CountMore(child);
  nodes_[At(child)].start = read() - 1;
  return child;
}

int SuffixTree::AddLeaf(int parent, std::int64_t start) {
  const int leaf = NewNode();
  Node& node = nodes_[At(leaf)];
  node = {.start = start, .length = 1, .token = TokenAt(start), .count = 1};
  SetChild(parent, leaf);
  JoinLast(leaf);
  return leaf;
}

// A node between `node` and its parent, which ends the first token of the edge.
int SuffixTree::SplitOff(int node) {
  const int above = NewNode();
  Node& lower = nodes_[At(node)];
  nodes_[At(above)] = {.start = lower.start,
                       .length = 1,
                       .token = lower.token,
                       .count = lower.count};
  Replace(node, above);
  SetChild(lower.parent, above);
  ++lower.start;
  --lower.length;
  lower.token = TokenAt(lower.start);
  lower.next = lower.prev = -1;
  lower.group = NewGroup(node);
  nodes_[At(above)].first = nodes_[At(above)].last = node;
  SetChild(above, node);
  return above;
}

// The only child, with the count of its parent: two edges become one.
void SuffixTree::TakePlaceOf(int parent, int child) {
  const Node upper = nodes_[At(parent)];
  Node& node = nodes_[At(child)];
  children_.erase({parent, node.token});
  free_groups_.push_back(node.group);
  node.start -= upper.length;
  node.length += upper.length;
  node.token = upper.token;
  Replace(parent, child);
  SetChild(upper.parent, child);
  free_.push_back(parent);
}

// The suffix at `start`, which ends at `end`.
void SuffixTree::TakeBack(std::int64_t start, std::int64_t end) {
  int node = 0;
  while (start < end) {
    const int child = Child(node, TokenAt(start));
    Check(child >= 0, "a suffix of a text was counted");
    if (nodes_[At(child)].count == 1) {
      RemoveLeaf(child);
      break;
    }
    CountLess(child);
    start += nodes_[At(child)].length;
    node = child;
  }
  const int only = nodes_[At(node)].first;
  if (node != 0 && only >= 0 && only == nodes_[At(node)].last &&
      nodes_[At(only)].count == nodes_[At(node)].count)
    TakePlaceOf(node, only);
}

void SuffixTree::RemoveLeaf(int leaf) {
  const Node node = nodes_[At(leaf)];
  Check(node.first < 0, "nothing follows what stood once");
  LeaveGroup(leaf);
  Unlink(leaf);
  children_.erase({node.parent, node.token});
  free_.push_back(leaf);
}

int SuffixTree::NewNode() {
  if (free_.empty()) {
    nodes_.emplace_back();
    return static_cast<int>(nodes_.size()) - 1;
  }
  const int node = free_.back();
  free_.pop_back();
  return node;
}

int SuffixTree::NewGroup(int only) {
  if (free_groups_.empty()) {
    groups_.push_back({only, only});
    return static_cast<int>(groups_.size()) - 1;
  }
  const int group = free_groups_.back();
  free_groups_.pop_back();
  groups_[At(group)] = {only, only};
  return group;
}

// Puts a node after its siblings, none of which was counted less.
void SuffixTree::JoinLast(int node) {
  const int last = nodes_[At(nodes_[At(node)].parent)].last;
  if (last < 0) {
    Node& parent = nodes_[At(nodes_[At(node)].parent)];
    parent.first = parent.last = node;
    nodes_[At(node)].group = NewGroup(node);
    return;
  }
  InsertAfter(node, last);
  if (nodes_[At(last)].count == nodes_[At(node)].count) {
    nodes_[At(node)].group = nodes_[At(last)].group;
    groups_[At(nodes_[At(node)].group)].last = node;
  } else {
    nodes_[At(node)].group = NewGroup(node);
  }
}

// Among the siblings of `node`, which has its count.
void SuffixTree::Replace(int node, int by) {
  const Node& old = nodes_[At(node)];
  Node& own = nodes_[At(by)];
  own.next = old.next;
  own.prev = old.prev;
  own.group = old.group;
  Group& group = groups_[At(own.group)];
  if (group.first == node) group.first = by;
  if (group.last == node) group.last = by;
  Node& parent = nodes_[At(old.parent)];
  (own.prev >= 0 ? nodes_[At(own.prev)].next : parent.first) = by;
  (own.next >= 0 ? nodes_[At(own.next)].prev : parent.last) = by;
}

void SuffixTree::Unlink(int node) {
  const Node& own = nodes_[At(node)];
  Node& parent = nodes_[At(own.parent)];
  (own.prev >= 0 ? nodes_[At(own.prev)].next : parent.first) = own.next;
  (own.next >= 0 ? nodes_[At(own.next)].prev : parent.last) = own.prev;
}

void SuffixTree::InsertBefore(int node, int place) {
  Node& own = nodes_[At(node)];
  own.next = place;
  own.prev = nodes_[At(place)].prev;
  nodes_[At(place)].prev = node;
  (own.prev >= 0 ? nodes_[At(own.prev)].next : nodes_[At(own.parent)].first) =
      node;
}

void SuffixTree::InsertAfter(int node, int place) {
  Node& own = nodes_[At(node)];
  own.prev = place;
  own.next = nodes_[At(place)].next;
  nodes_[At(place)].next = node;
  (own.next >= 0 ? nodes_[At(own.next)].prev : nodes_[At(own.parent)].last) =
      node;
}

void SuffixTree::LeaveGroup(int node) {
  const Node& own = nodes_[At(node)];
  Group& group = groups_[At(own.group)];
  if (group.first == group.last) {
    free_groups_.push_back(own.group);
  } else if (group.first == node) {
    group.first = own.next;
  } else if (group.last == node) {
    group.last = own.prev;
  }
}

// It passes those of its old count.
void SuffixTree::CountMore(int node) {
  const int first = groups_[At(nodes_[At(node)].group)].first;
  LeaveGroup(node);
  if (first != node) {
    Unlink(node);
    InsertBefore(node, first);
  }
  Node& own = nodes_[At(node)];
  ++own.count;
  if (own.prev >= 0 && nodes_[At(own.prev)].count == own.count) {
    own.group = nodes_[At(own.prev)].group;
    groups_[At(own.group)].last = node;
  } else {
    own.group = NewGroup(node);
  }
}

void SuffixTree::CountLess(int node) {
  const int last = groups_[At(nodes_[At(node)].group)].last;
  LeaveGroup(node);
  if (last != node) {
    Unlink(node);
    InsertAfter(node, last);
  }
  Node& own = nodes_[At(node)];
  --own.count;
  if (own.next >= 0 && nodes_[At(own.next)].count == own.count) {
    own.group = nodes_[At(own.next)].group;
    groups_[At(own.group)].first = node;
  } else {
    own.group = NewGroup(node);
  }
}

}  // namespace banyan
