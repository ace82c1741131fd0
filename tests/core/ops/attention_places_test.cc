// What attention gives does not depend on where tokens stand: in which slots,
// committed or pending, or beside which other sequences.
#include <gtest/gtest.h>

#include <cstddef>
#include <numeric>
#include <vector>

#include "core/base/common.h"
#include "core/ops/op_args.h"
#include "tests/core/ops/attention_tree.h"
#include "tests/core/ops/every_backend.h"
#include "tests/support/dice.h"

namespace banyan {
namespace {

// With fewer than this many tokens pending before those that are asked about.
AttentionShape SomeShape(int first_pending, Dice& dice) {
  return {4,
          2,
          dice.OneOf<int>({2, 6, 64}),
          dice.Below(90),
          dice.Below(first_pending),
          20,
          dice.OneIn(2) ? 0 : 11};
}

// Sequences in one call, each with caches, prefix and window of its own.
TEST(AttentionTwins, GiveEachOfSeveralSequencesWhatItGetsAlone) {
  Fleet fleet;
  Dice dice(7);
  for (const auto& backend : fleet.all())
    for (int count : {2, 3, 8}) {
      std::vector<AttentionTree> trees;
      std::vector<AttentionTree::Laid> laid(static_cast<std::size_t>(count));
      std::vector<AttentionArgs> together;
      Desk desk(*backend);
      for (AttentionTree::Laid& each : laid) {
        const AttentionShape shape = {4,
                                      2,
                                      10,
                                      dice.Below(300),
                                      dice.Below(5),
                                      dice.Between(1, 40),
                                      dice.OneIn(3) ? 7 : 0};
        trees.push_back(RandomTree(shape, 10, dice));
        trees.back().Lay(*backend, desk, 0, shape.batch, each);
        together.push_back(each.args);
      }
      const absl::Status status = backend->Attention(together);
      ASSERT_TRUE(status.ok()) << status;
      for (std::size_t i = 0; i < trees.size(); ++i)
        EXPECT_TRUE(SameBits(desk.Take(laid[i].args.y),
                             trees[i].Run(*backend, 0, trees[i].shape.batch)))
            << backend->description() << ", " << i << " of " << count << ": "
            << trees[i].name();
    }
}

TEST(Attention, DependsOnPositionsNotOnSlots) {
  Fleet fleet;
  Dice dice(5);
  for (int i = 0; i < 12; ++i) {
    const AttentionShape shape = SomeShape(40, dice);
    const AttentionTree tree = RandomTree(shape, 10, dice);
    for (const auto& backend : fleet.others()) {
      const Numbers y = tree.Run(*backend, 0, shape.batch);
      for (int row = 0; row < shape.batch; row += 4)
        EXPECT_TRUE(
            SameBits(Committed(tree, row).Run(*backend, 0, 1), y.Rows(row, 1)))
            << tree.name() << ", row " << row << ", " << backend->description();
    }
  }
}

// A backend may read a chain's pending tokens as it reads committed ones. Some
// chains cross the end of a stretch of 256 positions.
TEST(Attention, IsTheSameOfAChainThatSaysSo) {
  Fleet fleet;
  Dice dice(9);
  for (int i = 0; i < 12; ++i) {
    AttentionShape shape = SomeShape(40, dice);
    shape.kv_heads = dice.OneOf<int>({1, 2, 4});
    if (i % 3 == 0) shape.committed = dice.Between(230, 260);
    AttentionTree tree = RandomTree(shape, 10, dice);
    std::iota(tree.parents.begin(), tree.parents.end(), -1);
    for (const auto& backend : fleet.others()) {
      tree.is_chain = false;
      const Numbers y = tree.Run(*backend, 0, shape.batch);
      tree.is_chain = true;
      EXPECT_TRUE(SameBits(tree.Run(*backend, 0, shape.batch), y))
          << tree.name() << ", " << backend->description();
    }
  }
}

// A path is kept as a session keeps it: its slots move down to the end of the
// prefix, and the next token is stored after them.
TEST(Attention, ReadsMovedSlotsAsIfTheyHadBeenStoredThere) {
  Fleet fleet;
  Dice dice(8);
  int moved = 0;
  for (int i = 0; i < 12; ++i) {
    const AttentionShape shape = SomeShape(5, dice);
    AttentionTree tree = RandomTree(shape, 10, dice);
    tree.shape.pending_slot = kBehind;
    const int row = dice.Below(shape.batch);
    const AttentionTree alone = Committed(tree, row);
    std::vector<int> slots = tree.Path(shape.first_pending + row);
    slots.pop_back();
    for (int& slot : slots) slot += shape.committed;
    moved += static_cast<int>(slots.size());
    for (const auto& backend : fleet.all()) {
      Desk desk(*backend);
      AttentionTree::Laid laid;
      tree.Lay(*backend, desk, 0, shape.batch, laid);
      const absl::Status move =
          backend->MoveKv({&laid.prefix, slots, shape.committed});
      ASSERT_TRUE(move.ok()) << move;
      const int end = alone.shape.committed;
      StoreRows(*backend, desk, alone.pending_keys, alone.pending_values, end,
                laid.prefix);
      laid.args.queries = desk.Put(alone.queries);
      laid.args.committed = end;
      laid.args.pending_slot = end;
      laid.args.length = {};
      laid.args.first_pending = 0;
      laid.args.visible = desk.List({1});
      laid.args.visible_words = 1;
      laid.args.y = desk.Room(1, alone.queries.columns);
      const absl::Status status = backend->Attention({laid.args});
      ASSERT_TRUE(status.ok()) << status;
      EXPECT_TRUE(SameBits(desk.Take(laid.args.y), alone.Run(*backend, 0, 1)))
          << tree.name() << ", row " << row << ", " << backend->description();
    }
  }
  EXPECT_GT(moved, 20) << "nothing was tested";
}

}  // namespace
}  // namespace banyan
