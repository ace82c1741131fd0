// SuffixDecoding: drafts what followed the end of the text where it occurs
// earlier, by counts (Oliaro et al., arXiv:2411.04975).
//
// Claim. Where a model repeats itself or its prompt, counts tell how the text
// goes on and how long a draft is worth it: as far as a match is long and as
// its continuations agree.
//
// Rule. Two suffix trees (suffix_tree.h) count passages: one those of the text
// so far, one those of the outputs of earlier prompts and of this one. For each
// length m of a match, the last m tokens occur in a tree with what followed
// them:
//
//   budget(m) = min(max_tokens, floor(factor m + offset)) tokens are drafted,
//   score(m)  = the sum of their path products,
//
// by path or as a tree, no passage below `min_probability` of the match's own
// count. The largest score is drafted: of equal ones the longest match, and of
// the two trees the text's own. Promise() is this score.
//
// A passage at the end of a text is counted though nothing follows it, and in
// the text's own tree the match itself is such a passage. So after a match that
// occurred once earlier the draft has half the mass. Match and draft together
// are at most `depth` long. 64 is the authors' default. vLLM's 24 halves the
// work, but then no draft is longer than 12 tokens at a factor of 1, and
// repetitions are longer.
//
// Why the output distribution is kept. The plan is made when a round is
// committed, from committed text and from texts of prompts that ended before
// this one began. The children of a node are a distribution by their counts, as
// CountRule says.
//
// State. The second tree is empty unless `reset` is never. Then it takes over
// what was emitted in each prompt, in their order, up to `texts` of them; from
// then on each one that comes takes the oldest away, count by count. A session
// sees the tree as it was when it was made, and reads into it what its own
// prompt emits: who changes a tree that others read copies it first, which is
// one copy a prompt.
//
// A round costs `depth` steps a token in each tree and a walk of the draft for
// each match, whatever is held. Matches that reach into the prompt are looked
// up anew, `depth` steps each, for the second tree does not hold prompts.
//
// What differs: prompts under way do not see each other's output, so that what
// one gets does not depend on the batch; equal counts rank by the later
// occurrence, where the authors' order is that of a hash table; in a tree
// policy's hands the plan is what may be drawn from, not what is drawn.
#ifndef BANYAN_DRAFTERS_TEXT_SUFFIX_SUFFIX_H_
#define BANYAN_DRAFTERS_TEXT_SUFFIX_SUFFIX_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "core/base/token.h"
#include "core/prob/sampling_rule.h"
#include "drafters/drafter.h"
#include "drafters/text/carried_texts.h"
#include "drafters/text/plan_drafter.h"
#include "drafters/text/suffix/suffix_tree.h"

namespace banyan {

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

struct SuffixOptions {
  int depth = 64;
  int max_tokens = 64;
  double factor = 1;
  double offset = 0;
  double min_probability = 0.1;
  bool as_tree = false;
  bool keep_texts = false;
  int texts = 10'000;  // vLLM's
};

class Suffix : public PlanDrafter {
 public:
  // depth >= 2, min_probability > 0.
  Suffix(int vocab_size, const SuffixOptions& options,
         const SamplingRule& rule);

  std::unique_ptr<DraftSession> NewSession() const override;

 private:
  // Those of earlier prompts.
  class PastTexts {
   public:
    // texts >= 1.
    PastTexts(int depth, int texts) : tree(depth), limit_(texts) {}

    void Add(absl::Span<const TokenId> output);
    std::int64_t held() const { return tree.texts(); }
    std::int64_t dropped() const { return dropped_; }

    SuffixTree tree;

   private:
    int limit_;
    std::int64_t dropped_ = 0;
  };
  friend class SuffixSession;

  SuffixOptions options_;
  CarriedTexts<PastTexts> past_;
};

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_TEXT_SUFFIX_SUFFIX_H_
