// Merge: several trunks' trees become one trie.
#ifndef BANYAN_TREE_MERGE_H_
#define BANYAN_TREE_MERGE_H_

#include "absl/types/span.h"
#include "tree/draft_tree.h"
#include "tree/trunk_tree.h"

namespace banyan {

// Merges the trunks' trees, which share their root and count their draws
// together: equal paths become one node, which keeps each trunk's draws.
// Children stand in the order of time of their first draws. With one trunk this
// is putting it in depth-first order.
DraftTree Merge(absl::Span<const TrunkTree> trunks);

}  // namespace banyan

#endif  // BANYAN_TREE_MERGE_H_
