// Trying drafters over rounds.
#ifndef BANYAN_TESTS_DRAFTERS_TRYING_H_
#define BANYAN_TESTS_DRAFTERS_TRYING_H_

#include <random>
#include <vector>

#include "core/model/context.h"
#include "tests/support/solo.h"
#include "tree/tree_policy.h"
#include "tree/trunk_tree.h"

namespace banyan {

// Expects the same nodes, draws and proposals, to the last bit.
void ExpectSameTree(const TrunkTree& tree, const TrunkTree& expected);

// Ends the round of a tree that was drafted with some verdict that it allows,
// the next token one of `vocab_size`: the context grows, drafters observe it.
void EndRound(const TrunkTree& drafted, int vocab_size, std::mt19937_64& bits,
              const std::vector<Solo*>& drafters, Context& context);

// The trees of sequences that are drafted together, independently drawn; each
// drafter has begun its context.
std::vector<TrunkTree> DraftTogether(const std::vector<Solo*>& drafters,
                                     const std::vector<Context>& contexts,
                                     const TreePolicy& policy);

}  // namespace banyan

#endif  // BANYAN_TESTS_DRAFTERS_TRYING_H_
