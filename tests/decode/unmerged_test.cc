// Trees scored path by path have more rows than merged trees. Everything else
// is bit-identical.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/token.h"
#include "core/random/random_source.h"
#include "decode/decoder.h"
#include "decode/method.h"
#include "decode/sequence.h"
#include "tests/conformance/pairing.h"
#include "tests/conformance/toys.h"
#include "tests/decode/same_rounds.h"
#include "tests/support/decoding.h"
#include "tests/support/planter.h"
#include "tests/support/shared_models.h"
#include "tests/support/table_drafter.h"
#include "tree/draft_tree.h"

namespace banyan {
namespace {

constexpr char kMany[] = "sequences {width: 4, levels: 4}";

Rounds RoundsBy(Decoder& decoder, Scoring scoring, const Prompt& prompt,
                const StopRule& stop, std::uint64_t seed) {
  decoder.method().scoring = scoring;
  decoder.KeepFacts();
  Decoded decoded = MustDecode(decoder, prompt, stop, seed);
  return {std::move(decoded.tokens), std::move(decoded.rounds)};
}

// As many as all paths from the root to a leaf have nodes.
int NodesOfPaths(const DraftTree& tree) {
  int nodes = 0;
  for (const Node& node : tree.nodes())
    if (node.children.empty()) nodes += node.depth + 1;
  return nodes;
}

// The rounds of both, which are the same but for the rows; how many rows
// merging saved.
int ExpectAlike(Decoder& decoder, const Prompt& prompt, const StopRule& stop,
                std::uint64_t seed = 0) {
  const Rounds merged = RoundsBy(decoder, Scoring::kMerged, prompt, stop, seed);
  Rounds unmerged = RoundsBy(decoder, Scoring::kUnmerged, prompt, stop, seed);
  int saved = 0;
  for (RoundRecord& round : unmerged.rounds) {
    EXPECT_EQ(round.pass_tokens, NodesOfPaths(round.tree));
    saved += round.pass_tokens - round.tree.size();
    round.pass_tokens = round.tree.size();
  }
  ExpectSameRounds(unmerged, merged, /*whole=*/true);
  return saved;
}

class Unmerged : public testing::TestWithParam<const char*> {};

// Includes texts that end, and targets whose distribution on each branch
// depends on all earlier tokens.
TEST_P(Unmerged, GivesTheSameRounds) {
  const StopRule stop = {.end_of_text = {4}, .max_new_tokens = 30};
  int saved = 0;
  int decoders = 0;
  for (int seed = 0; seed < 4; ++seed)
    for (double temperature : {0., 1.})
      for (const char* verifier : {"multi_round", "traversal", "k_seq"}) {
        Pairing pairing = {.target = Toy({.vocab_size = 5, .seed = seed}),
                           .verifier = verifier,
                           .trunks = {{GetParam(), Toy({.vocab_size = 5,
                                                        .seed = seed,
                                                        .sharpness = 1.2})}},
                           .sampling = {.repetition_penalty = 1.1,
                                        .temperature = temperature}};
        for (int trunks = 1; trunks <= 2; ++trunks) {
          absl::StatusOr<Decoder> decoder = Build(pairing);
          pairing.trunks.push_back(
              {"chain {nodes: 3}", Toy({.vocab_size = 5, .seed = seed + 1})});
          if (IsRefusal(decoder.status())) continue;
          ASSERT_TRUE(decoder.ok()) << decoder.status();
          ++decoders;
          for (std::uint32_t id = 0; id < 3; ++id)
            saved += ExpectAlike(
                *decoder, {.id = id, .tokens = {5, static_cast<TokenId>(id)}},
                stop, static_cast<std::uint64_t>(seed));
        }
      }
  EXPECT_GE(decoders, 16);
  EXPECT_GT(saved, 300);
}

INSTANTIATE_TEST_SUITE_P(
    Policies, Unmerged,
    testing::Values(kMany, "expansion {branching: [3, 2, 1]}",
                    "best_first {most_draws: 9}",
                    "static {paths: [[0], [1], [0, 0], [0, 1], [0, 0, 0]]}"),
    [](const auto& row) {
      const std::string text = row.param;
      return text.substr(0, text.find(' '));
    });

TEST(UnmergedRounds, OfAChainHaveItsRows) {
  const auto target = Toy({.vocab_size = 5});
  absl::StatusOr<Decoder> decoder = Build(
      {.target = target,
       .verifier = "leviathan",
       .trunks = {{"chain {nodes: 4}", Toy({.vocab_size = 5, .seed = 1})}}});
  ASSERT_TRUE(decoder.ok()) << decoder.status();
  EXPECT_EQ(ExpectAlike(*decoder, {.tokens = {5, 1}}, {.max_new_tokens = 30}),
            0);
}

// A context that ends within the trees.
TEST(UnmergedRounds, EndWithTheContext) {
  const auto target = Limited(Toy({.vocab_size = 5}), 17);
  absl::StatusOr<Decoder> decoder =
      Build({.target = target,
             .verifier = "multi_round",
             .trunks = {{kMany, Toy({.vocab_size = 5, .seed = 1})}}});
  ASSERT_TRUE(decoder.ok()) << decoder.status();
  EXPECT_GT(ExpectAlike(*decoder, {.tokens = {5, 1}}, {.max_new_tokens = 90}),
            20);
  EXPECT_EQ(
      MustDecode(*decoder, {.tokens = {5, 1}}, {.max_new_tokens = 90}).stopped,
      StopReason::kContext);
}

// Probes, and vectors below them, at every node of a tree.
TEST(UnmergedRounds, ScoreProbesToo) {
  const auto target = WithStates(*Toy({.vocab_size = 4}));
  std::vector<Trunk> trunks;
  trunks.push_back(TrunkOf(
      std::make_unique<Planter>(
          std::make_unique<TableDrafter>(Toy({.vocab_size = 4, .seed = 1})),
          std::make_shared<const std::vector<float>>(std::vector<float>{3, 0})),
      "expansion {branching: [2, 2]}"));
  absl::StatusOr<Decoder> decoder =
      WithTrunks(*target, "multi_round", std::move(trunks));
  ASSERT_TRUE(decoder.ok()) << decoder.status();
  EXPECT_GT(ExpectAlike(*decoder, {.tokens = {4, 1}}, {.max_new_tokens = 30}),
            100);
}

// Prompts that share passes get what they get alone.
TEST(UnmergedRounds, MayBeShared) {
  const auto target = Toy({.vocab_size = 5});
  absl::StatusOr<Decoder> decoder =
      Build({.target = target,
             .verifier = "multi_round",
             .trunks = {{kMany, Toy({.vocab_size = 5, .seed = 1})}}});
  ASSERT_TRUE(decoder.ok()) << decoder.status();
  decoder->method().scoring = Scoring::kUnmerged;
  const Prompt prompts[] = {{.id = 1, .tokens = {5, 1}},
                            {.id = 2, .tokens = {5, 3, 2}}};
  const StopRule stop = {.max_new_tokens = 20};
  std::vector<Sequence> sequences;
  for (const Prompt& prompt : prompts)
    sequences.push_back(decoder->Begin(prompt, stop).value());
  Sequence* const both[] = {sequences.data(), &sequences[1]};
  SeededSource random(3);
  while (sequences[0].stopped == StopReason::kNone &&
         sequences[1].stopped == StopReason::kNone) {
    const auto rounds = decoder->StepAll(both, random);
    ASSERT_TRUE(rounds.ok()) << rounds.status();
    const auto& [first, second] = std::tie((*rounds)[0], (*rounds)[1]);
    EXPECT_EQ(first->pass_tokens,
              NodesOfPaths(first->tree) + NodesOfPaths(second->tree));
  }
  for (std::size_t i = 0; i < 2; ++i) {
    const std::vector<TokenId> alone =
        MustDecode(*decoder, prompts[i], stop, 3).tokens;
    std::vector<TokenId> emitted(
        sequences[i].context.tokens.begin() +
            static_cast<std::ptrdiff_t>(prompts[i].tokens.size()),
        sequences[i].context.tokens.end());
    ASSERT_LE(emitted.size(), alone.size());
    EXPECT_TRUE(std::equal(emitted.begin(), emitted.end(), alone.begin()));
    EXPECT_GT(emitted.size(), 5U);
  }
}

}  // namespace
}  // namespace banyan
