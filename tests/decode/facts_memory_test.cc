// What recording a round costs in memory: rows over the vocabulary that are
// held at once, counted as blocks of that size.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/token.h"
#include "core/model/context.h"
#include "core/model/model.h"
#include "core/prob/sampling_rule.h"
#include "core/random/random_source.h"
#include "decode/decoder.h"
#include "decode/method.h"
#include "decode/sequence.h"
#include "decode/target_rows.h"
#include "tests/conformance/toys.h"
#include "tests/support/blocks_held.h"
#include "tests/support/decoding.h"
#include "tests/support/table_drafter.h"
#include "tree/derive.h"

namespace banyan {
namespace {

constexpr int kVocabulary = 2048;

// A round after the prompt by a method that records nothing.
RoundRecord OneRound(const Model& target, const Prompt& prompt,
                     const std::string& policy) {
  std::vector<Trunk> trunks;
  trunks.push_back(TrunkOf(std::make_unique<TableDrafter>(
                               Toy({.vocab_size = kVocabulary, .seed = 2})),
                           policy));
  auto decoder = WithTrunks(target, "multi_round", std::move(trunks));
  EXPECT_TRUE(decoder.ok()) << decoder.status();
  auto sequence = decoder->Begin(prompt, {.max_new_tokens = 9});
  EXPECT_TRUE(sequence.ok()) << sequence.status();
  SeededSource random(7);
  auto round = decoder->Step(*sequence, random);
  EXPECT_TRUE(round.ok()) << round.status();
  return *std::move(round);
}

struct Held {
  int rows = 0;    // at most, beside those that verification read
  int wanted = 0;  // rows that facts are told of
};

// What gathering the facts of such a round holds.
Held GatheringHolds(const std::string& policy) {
  const auto target = Toy({.vocab_size = kVocabulary, .seed = 1});
  const Prompt prompt = {.tokens = {target->begin(), 2}};
  const RoundRecord round = OneRound(*target, prompt, policy);
  const auto sequence = Sequence::Start(*target, prompt, {});
  EXPECT_TRUE(sequence.ok()) << sequence.status();
  Session& session = *sequence->session;
  const TokenBatch batch = ToBatch(round.tree, session.length());
  const ScoreRequest request = {&session, &batch, {}};
  const auto scores = target->Score({&request, 1});
  EXPECT_TRUE(scores.ok()) << scores.status();
  const SamplingRule rule;
  TargetRows rows(*scores->front(), rule, sequence->context, round.tree);
  rows.Row(0);
  for (int node : round.verdict.path) rows.Row(node);

  CountBlocksFrom(kVocabulary * sizeof(double));
  const absl::StatusOr<TargetFacts> facts =
      GatherFacts(*scores->front(), round.tree, round.verdict, rows);
  Held held = {.rows = MostBlocksHeld()};
  EXPECT_TRUE(facts.ok()) << facts.status();
  for (const auto& lists : facts->overlap) held.wanted += !lists.empty();
  return held;
}

TEST(TargetFacts, AreGatheredWithOneRowAtATimeWhateverTheTree) {
  const Held small = GatheringHolds("chain {nodes: 1}");
  const Held large = GatheringHolds("expansion {branching: [8, 4, 2]}");
  EXPECT_EQ(small.wanted, 1);
  EXPECT_EQ(large.wanted, 1 + 8 + 8 * 4);
  // The row that is read; the sampling rule makes a distribution in place.
  EXPECT_EQ(large.rows, 1);
  EXPECT_GE(small.rows, 1);  // what is counted is seen
}

}  // namespace
}  // namespace banyan
