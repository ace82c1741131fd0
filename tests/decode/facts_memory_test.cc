// What recording a round costs in memory: the rows over the vocabulary that are
// held at once, counted as blocks of that size.
#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/token.h"
#include "core/random/seeded_source.h"
#include "decode/decoder.h"
#include "decode/method.h"
#include "decode/round.h"
#include "decode/sequence.h"
#include "tests/conformance/toys.h"
#include "tests/support/blocks_held.h"
#include "tests/support/decoding.h"
#include "tests/support/table_drafter.h"
#include "tree/draft_tree.h"

namespace banyan {
namespace {

constexpr int kVocabulary = 2048;

struct Held {
  int rows = 0;  // at most, while the round ran
  int nodes_with_draws = 0;
  std::size_t path = 0;
  std::size_t facts = 0;
};

// What one round of the same tree and verdict holds.
Held OneRound(bool keep_facts) {
  const auto target = Toy({.vocab_size = kVocabulary, .seed = 1});
  std::vector<Trunk> trunks;
  trunks.push_back(TrunkOf(std::make_unique<TableDrafter>(
                               Toy({.vocab_size = kVocabulary, .seed = 2})),
                           "expansion {branching: [3, 2, 2]}",
                           DraftLaw::kDeterministic));
  auto decoder = WithTrunks(*target, "multi_round", std::move(trunks));
  EXPECT_TRUE(decoder.ok()) << decoder.status();
  if (keep_facts) decoder->KeepFacts();
  auto sequence =
      decoder->Begin({.tokens = {target->begin(), 2}}, {.max_new_tokens = 9});
  EXPECT_TRUE(sequence.ok()) << sequence.status();
  SeededSource random(7);
  CountBlocksFrom(kVocabulary * sizeof(double));
  const auto round = decoder->Step(*sequence, random);
  EXPECT_TRUE(round.ok()) << round.status();
  Held held = {.rows = MostBlocksHeld(),
               .path = round->verdict.path.size(),
               .facts = round->facts.overlap.size()};
  for (const Node& node : round->tree.nodes())
    if (!node.lists.empty()) ++held.nodes_with_draws;
  return held;
}

TEST(TargetFacts, HoldOneRowMoreThanTheMethodWhateverTheTree) {
  const Held method = OneRound(false);
  const Held recorded = OneRound(true);
  ASSERT_EQ(recorded.path, method.path);
  ASSERT_EQ(method.facts, 0U);
  ASSERT_GT(recorded.facts, 0U);
  // Verification leaves most rows alone, so keeping them all would show.
  ASSERT_EQ(method.nodes_with_draws, 10);
  ASSERT_LE(method.path, 2U);
  EXPECT_LE(recorded.rows, method.rows + 1);
  // What counts rows does count: a proposal at each of these nodes.
  EXPECT_GE(method.rows, method.nodes_with_draws);
}

}  // namespace
}  // namespace banyan
