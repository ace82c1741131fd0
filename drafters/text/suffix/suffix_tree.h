// SuffixTree: counts how often each passage of at most `depth` tokens occurs in
// some texts, and what follows it there.
//
// It is the trie of the suffixes of all texts, each cut after `depth` tokens. A
// passage is a path from the root. Its count is how many suffixes begin with
// it, which is how often it occurs. Paths along which the count does not change
// are edges: a node is the end of one, and its label is a piece of a text.
//
// A text is read token by token. The suffixes that are still shorter than
// `depth` end at nodes, for their counts exceed what follows; a token moves
// each of them one step on: a leaf's edge grows, a node moves down the edge
// below, or an edge is split. A text is taken back by walking its suffixes;
// what then has one child of its own count becomes an edge again. So the tree
// is always, but for the numbers of its nodes, the one that its texts alone
// would have made.
//
// Labels, and the order of equal counts, go by the latest occurrence. Texts go
// in the order in which they came; so a node whose label would go with a text
// goes with it.
//
// Siblings stand in the order of their counts. Of equal counts the first and
// the last are known, so that one more or one less is a step past them.
//
// A token costs `depth` steps when it is read and when it is taken back, each
// of them a look-up or two, whatever has been read. A token takes up to two
// nodes, at most 140 bytes: a leaf for its suffix and a branch above it. A trie
// without edges would take `depth` nodes, and a suffix automaton knows no way
// to forget.
#ifndef BANYAN_DRAFTERS_TEXT_SUFFIX_SUFFIX_TREE_H_
#define BANYAN_DRAFTERS_TEXT_SUFFIX_SUFFIX_TREE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "core/base/token.h"

namespace banyan {

class SuffixTree {
 public:
  // Where a passage ends: `length` tokens down the edge to a node. The root is
  // node 0, whose edge is empty.
  struct Place {
    int node = 0;
    int length = 0;
  };

  // Passages of one token at least.
  explicit SuffixTree(int depth);

  // Reads a token of the text under way, or ends that text.
  void Append(TokenId token);
  void EndText();
  // Takes back the oldest text, which has ended.
  void DropOldest();

  int depth() const { return depth_; }
  int texts() const { return static_cast<int>(ends_.size()); }  // ended
  int nodes() const { return static_cast<int>(nodes_.size() - free_.size()); }

  // The nodes at which the text under way ends, by their depth: that of its
  // last token, of its last two tokens, and so on.
  absl::Span<const int> ends() const { return active_; }
  Place EndOf(int node) const { return {node, nodes_[At(node)].length}; }

  // Goes a token on; false, and stays, if no text does after this passage.
  bool Step(TokenId token, Place& place) const;

  int count(int node) const { return nodes_[At(node)].count; }
  int parent(int node) const { return nodes_[At(node)].parent; }
  int length(int node) const { return nodes_[At(node)].length; }
  // The token at a place of the edge to a node.
  TokenId token(int node, int place) const {
    return TokenAt(nodes_[At(node)].start + place);
  }

  // The children that were counted `least` times or more, into `children`: by
  // falling count, equal ones by the later occurrence. Costs as much as there
  // are.
  void Children(int node, int least, std::vector<int>& children) const;

 private:
  struct Node {
    std::int64_t start = 0;  // of the label, among all tokens ever read
    int length = 0;          // of the label
    TokenId token = 0;       // its first
    int parent = -1;
    int count = 0;
    int first = -1, last = -1;  // children, by falling count
    int next = -1, prev = -1;   // siblings
    int group = -1;             // of siblings with its count
  };
  // Neighbours with one count.
  struct Group {
    int first = -1, last = -1;
  };

  static std::size_t At(int index) { return static_cast<std::size_t>(index); }
  TokenId TokenAt(std::int64_t position) const {
    return tokens_[static_cast<std::size_t>(position - dropped_)];
  }
  std::int64_t read() const {
    return dropped_ + static_cast<std::int64_t>(tokens_.size());
  }
  int Child(int node, TokenId token) const;
  void SetChild(int node, int child);

  int Extend(int node, TokenId token);
  int AddLeaf(int parent, std::int64_t start);
  int SplitOff(int node);
  void TakePlaceOf(int parent, int child);
  void TakeBack(std::int64_t start, std::int64_t end);
  void RemoveLeaf(int leaf);

  int NewNode();
  int NewGroup(int only);
  void JoinLast(int node);
  void Replace(int node, int by);
  void Unlink(int node);
  void InsertBefore(int node, int place);
  void InsertAfter(int node, int place);
  void LeaveGroup(int node);
  void CountMore(int node);
  void CountLess(int node);

  int depth_;
  std::vector<Node> nodes_;
  std::vector<int> free_;
  std::vector<Group> groups_;
  std::vector<int> free_groups_;
  absl::flat_hash_map<std::pair<int, TokenId>, int> children_;

  std::deque<TokenId> tokens_;     // of all texts that are held
  std::int64_t dropped_ = 0;       // tokens before them
  std::deque<std::int64_t> ends_;  // of texts that have ended
  std::vector<int> active_;        // nodes where the text under way ends
};

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_TEXT_SUFFIX_SUFFIX_TREE_H_
