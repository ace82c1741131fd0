// BranchTrie: the branches of text that begin with one token, with how often
// each of their beginnings was put in.
//
// Each node counts how often it was put by prompts and by outputs, and is worth
//
//   weights.prompt * prompt + weights.output * output.
//
// A node is worth no more than its parent. Siblings stand by falling worth, of
// equal ones that first which came first to be worth it, so the best branches
// are found without a look at the others: siblings of one worth form a group
// that knows its head, and one whose worth rises leaps over whole groups.
//
// Putting costs a look-up a token, and a step for each worth that is leapt
// over: one where only the output's counts rise, by one.
#ifndef BANYAN_DRAFTERS_TEXT_TRIE_BRANCH_TRIE_H_
#define BANYAN_DRAFTERS_TEXT_TRIE_BRANCH_TRIE_H_

#include <cstddef>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "core/base/token.h"

namespace banyan {

// Who said a branch.
enum class Source { kPrompt, kOutput };

class BranchTrie {
 public:
  static constexpr int kNone = -1;

  struct Weights {
    double prompt = 0;
    double output = 1;
  };
  struct Node {
    TokenId token = 0;
    int first_child = kNone;
    int last_child = kNone;
    int next = kNone;
    int previous = kNone;
    int group = 0;
    double prompt = 0;
    double output = 0;
  };

  // Node 0 stands for the first token, whose own id it does not know.
  explicit BranchTrie(const Weights& weights) : weights_(weights), nodes_(1) {}

  // Nodes below the first token.
  int size() const { return static_cast<int>(nodes_.size()) - 1; }
  const Node& node(int index) const {
    return nodes_[static_cast<std::size_t>(index)];
  }
  double Worth(int index) const {
    return weights_.prompt * node(index).prompt +
           weights_.output * node(index).output;
  }
  // The node's child with this token, and the node of a path from node 0.
  int Child(int index, TokenId token) const;
  int Find(absl::Span<const TokenId> path) const;

  // Counts a branch once more, given what comes after its first token.
  void Put(absl::Span<const TokenId> tokens, Source source);

  // The same counts by other weights, in the same order of siblings. Requires
  // that all of them are outputs' and that these weigh more than 0.
  BranchTrie Weighed(const Weights& weights) const;
  // Halves the counts of outputs; what was counted once or less is dropped,
  // with all below. Requires that no prompt has put anything. Returns how many
  // nodes it dropped.
  int Prune();

 private:
  Node& at(int index) { return nodes_[static_cast<std::size_t>(index)]; }
  int& head(int group) { return heads_[static_cast<std::size_t>(group)]; }
  int AddChild(int parent, TokenId token);
  void Count(int parent, int child, Source source);
  int TakeOut(int parent, int child);
  void PutIn(int parent, int child, int before);

  Weights weights_;
  std::vector<Node> nodes_;
  absl::flat_hash_map<std::pair<int, TokenId>, int> children_;
  // By group its first node; groups that are free.
  std::vector<int> heads_;
  std::vector<int> free_;
};

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_TEXT_TRIE_BRANCH_TRIE_H_
