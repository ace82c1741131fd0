// Drafter: says, for nodes of a growing tree, what the next token may be.
#ifndef BANYAN_DRAFTERS_DRAFTER_H_
#define BANYAN_DRAFTERS_DRAFTER_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/context.h"
#include "core/prob/distribution.h"
#include "tree/draft_tree.h"
#include "tree/growing_tree.h"
#include "tree/verdict.h"

namespace banyan {

// One sequence's drafter; not safe for concurrent use.
//
// Calls come as Begin, then for each round any number of Propose and one
// Observe. Propose may warm caches but must not change what later proposals
// say: a round can be abandoned after any of its steps. What is learnt is
// learnt in Observe.
class Drafter {
 public:
  virtual ~Drafter() = default;

  // The laws its proposals can be drawn by, in no order. One that only ranks
  // candidates can give kDeterministic alone; its proposal is then a list of
  // scores.
  virtual std::vector<DraftLaw> laws() const = 0;

  // True if what it learnt from one prompt stays for the next: runs with it
  // depend on the order of the prompts.
  virtual bool carries_state() const { return false; }

  // The hidden states of the target that it reads in context.features, by tap
  // (core/model/model.h); ascending.
  virtual std::vector<int> taps() const { return {}; }

  // Of how many depths the laws hang on the depth alone, whatever the path: as
  // many as it has heads. 0: they hang on the path.
  virtual int heads() const { return 0; }

  // A new prompt. Forgets the previous one, unless it carries state.
  virtual absl::Status Begin(const Context& context) = 0;

  // One proposal for each of `nodes`, in their order: the law of the token
  // after that node, given the committed context and the node's path. One pass
  // of the drafter. Their ancestors were proposed for before them. The masses
  // need not sum to 1: Grow normalises a law before it draws, and scores that
  // sum to more, so that no path outweighs its parent. A proposal without mass
  // ends its branch.
  virtual absl::StatusOr<std::vector<Distribution>> Propose(
      const Context& context, const GrowingTree& tree,
      absl::Span<const int> nodes) = 0;

  // The round is committed: `context` already holds its tokens.
  virtual absl::Status Observe(const Context& context,
                               const RoundOutcome& outcome) = 0;
};

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_DRAFTER_H_
