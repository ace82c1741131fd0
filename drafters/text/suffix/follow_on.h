// FollowOn: finds what most likely follows a place of a suffix tree, by counts.
//
// A passage after the place has the path product
//
//   P(passage) = product of count(node) / count(parent) on the way to it
//              = count(passage) / count(place),
//
// since each count is divided by the one above it. *path* goes on with the
// child that was counted most, while P is at least `least`. *tree* takes the
// tokens of largest P, up to `budget`, of equal ones those found first. Both
// find edges, whose tokens have one P. Costs a piece for each node of the tree
// that the draft passes, and at most 1 / `least` children a node.
#ifndef BANYAN_DRAFTERS_TEXT_SUFFIX_FOLLOW_ON_H_
#define BANYAN_DRAFTERS_TEXT_SUFFIX_FOLLOW_ON_H_

#include <cstddef>
#include <vector>

#include "drafters/text/draft_plan.h"
#include "drafters/text/suffix/suffix_tree.h"

namespace banyan {

class FollowOn {
 public:
  FollowOn(bool as_tree, double least) : as_tree_(as_tree), least_(least) {}

  // Finds what follows `from`, some tokens below the root, at most `budget`
  // tokens.
  void Find(const SuffixTree& tree, SuffixTree::Place from, int budget);

  // Of what was found last: the sum of P over its tokens, and the tokens
  // themselves, each scored by its share of its parent's count.
  double score() const { return score_; }
  DraftPlan Plan(const SuffixTree& tree) const;

 private:
  // `length` tokens of an edge, after the piece `above`; -1: after the place.
  struct Piece {
    int node;
    int first;
    int length;
    int above;
  };
  // An edge that may be drafted from; `found` is the order.
  struct Open {
    int count;
    int found;
    int node;
    int first;
    int above;
  };

  void Follow(const SuffixTree& tree, int node, int above, int least);
  static bool IsWorse(const Open& a, const Open& b);
  Open TakeBest();

  bool as_tree_;
  double least_;
  double score_ = 0;
  int found_ = 0;
  std::vector<Piece> pieces_;
  std::vector<Open> open_;
  std::vector<int> children_;
};

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_TEXT_SUFFIX_FOLLOW_ON_H_
