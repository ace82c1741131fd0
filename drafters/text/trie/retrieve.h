// Retrieve: the draft plan of the best branches of a trie.
#ifndef BANYAN_DRAFTERS_TEXT_TRIE_RETRIEVE_H_
#define BANYAN_DRAFTERS_TEXT_TRIE_RETRIEVE_H_

#include "absl/types/span.h"
#include "core/base/token.h"
#include "drafters/text/draft_plan.h"
#include "drafters/text/trie/branch_store.h"

namespace banyan {

struct RetrievalSize {
  int depth = 1;
  int nodes = 1;
  int output_nodes = 0;  // of these, for the best by the counts of outputs
};

// Returns, of the branches that go on from `path`, the nodes worth most: first
// `output_nodes` by the counts of outputs, then others by the mix. Of equal
// ones the deeper comes first, then the one found first. A node's score is its
// share of its parent's worth in the mix. Empty if nothing goes on from there.
//
// Costs the logarithm of the size for each node, whatever the tries hold.
DraftPlan Retrieve(const BranchStore::Tries& tries,
                   absl::Span<const TokenId> path, const RetrievalSize& size);

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_TEXT_TRIE_RETRIEVE_H_
