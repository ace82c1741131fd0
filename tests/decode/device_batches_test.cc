// Rounds of several sequences that a device runs in one call, against those
// that the host runs for each alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "core/base/check.h"
#include "core/base/token.h"
#include "core/ops/weight.h"
#include "core/random/random_source.h"
#include "decode/decoder.h"
#include "decode/method.h"
#include "decode/sequence.h"
#include "tests/core/checkpoint/files.h"
#include "tests/core/transformer/walk.h"
#include "tests/decode/device_decoding.h"
#include "tests/decode/same_rounds.h"
#include "tests/support/tally.h"
#include "tree/draft_tree.h"

namespace banyan {
namespace {

constexpr DrawKind kIndependent = DrawKind::kIndependent;

const std::vector<DecodedSetting>& Settings() {
  static const auto* const settings = new std::vector<DecodedSetting>{
      {"", "", "match", kIndependent, {.temperature = 1}},
      {"small_model",
       "expansion {branching: [2, 1, 1]}",
       "multi_round",
       kIndependent,
       {.repetition_penalty = 1.3, .banned = {3, 5}, .temperature = 1.2}},
      {"medusa, trimmed",
       "expansion {branching: [2, 2], share_draws: true}",
       "match",
       kIndependent,
       {.temperature = 1}},
      {"eagle1",
       "expand_rerank {width: 3, levels: 3, nodes: 5}",
       "greedy",
       DrawKind::kDeterministic,
       {.temperature = 0}},
      {"mtp_mimo",
       "chain {nodes: 3}",
       "multi_round",
       DrawKind::kWithoutReplacement,
       {.temperature = 6}},
      {"",
       "",
       "multi_round",
       kIndependent,
       {.temperature = 1.5, .top_k = 6, .min_p = 0.05},
       {{"small_model", "chain {nodes: 2}", kIndependent},
        {"eagle3_safeai", "chain {nodes: 2}", kIndependent},
        {"copy {}", "chain {nodes: 3}", DrawKind::kDeterministic}}}};
  return *settings;
}

// Of unlike lengths, so that the texts end in different rounds.
std::vector<Prompt> PromptsOf(int count) {
  std::vector<Prompt> prompts;
  for (int i = 0; i < count; ++i) {
    Prompt prompt = {.id = static_cast<std::uint32_t>(i), .tokens = {1}};
    for (int k = 0; k <= 2 + i % 3; ++k)
      prompt.tokens.push_back(7 + (11 * i + 5 * k) % 50);
    prompts.push_back(std::move(prompt));
  }
  return prompts;
}

StopRule StopOf(std::size_t prompt, int tokens) {
  return {.end_of_text = {17},
          .max_new_tokens = tokens + 3 * static_cast<int>(prompt % 3)};
}

// Decodes all prompts, at most `together` at once: who ends makes room for the
// next. In every fifth round the first of them waits.
std::vector<Rounds> Together(Decoder& decoder,
                             const std::vector<Prompt>& prompts,
                             std::size_t together, int tokens,
                             std::set<int>& sizes) {
  SeededSource seeded(4);
  std::vector<Sequence> sequences;
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    auto sequence = decoder.Begin(prompts[i], StopOf(i, tokens));
    Check(sequence.ok(), sequence.status().message());
    sequences.push_back(*std::move(sequence));
  }
  std::vector<Rounds> runs(prompts.size());
  for (int round = 0;; ++round) {
    std::vector<std::size_t> going;
    for (std::size_t i = 0; i < prompts.size() && going.size() < together; ++i)
      if (sequences[i].stopped == StopReason::kNone) going.push_back(i);
    if (going.empty()) return runs;
    if (round % 5 == 4 && going.size() > 1) going.erase(going.begin());
    std::vector<Sequence*> some;
    for (const std::size_t i : going) some.push_back(&sequences[i]);
    auto records = decoder.StepAll(some, seeded);
    Check(records.ok(), records.status().message());
    int rows = 0;
    for (const auto& record : *records) rows += record->tree.size();
    sizes.insert(static_cast<int>(going.size()));
    for (std::size_t k = 0; k < going.size(); ++k) {
      Rounds& run = runs[going[k]];
      RoundRecord record = *std::move((*records)[k]);
      EXPECT_EQ(record.sequences, static_cast<int>(going.size()));
      EXPECT_EQ(record.pass_tokens, rows);
      record.pass_tokens = record.tree.size();  // as alone
      if (RanOnDevice(record)) ++run.on_device;
      run.tokens.insert(run.tokens.end(), record.emitted.begin(),
                        record.emitted.end());
      run.rounds.push_back(std::move(record));
    }
  }
}

class DeviceBatches : public testing::TestWithParam<std::string> {};

TEST_P(DeviceBatches, AreTheHostsOneByOne) {
  const bool emulated = GetParam() == "emulated_gpu";
  Models models("llama", BackendOf(GetParam()));
  models.TakeEagleTarget();
  const int tokens = emulated ? 6 : 16;
  Tally tally;
  int accepted = 0;
  std::set<int> sizes;
  for (const DecodedSetting& setting : Settings()) {
    SCOPED_TRACE(setting.name());
    auto decoder = DecoderOf(models, setting);
    ASSERT_TRUE(decoder.ok()) << decoder.status();
    decoder->KeepFacts();
    for (const int together :
         emulated ? std::vector<int>{3} : std::vector<int>{2, 4, 8}) {
      const std::vector<Prompt> prompts = PromptsOf(together + 2);
      decoder->method().rounds = RoundsOn::kDevice;
      const std::vector<Rounds> runs = Together(
          *decoder, prompts, static_cast<std::size_t>(together), tokens, sizes);
      decoder->method().rounds = RoundsOn::kHost;
      for (std::size_t i = 0; i < prompts.size(); ++i) {
        std::set<int> one;
        SeededSource seeded(4);
        const Rounds alone =
            RoundsOf(*decoder, prompts[i], StopOf(i, tokens), seeded);
        SCOPED_TRACE(absl::StrCat("prompt ", i, " of ", together));
        ExpectSameRounds(runs[i], alone, /*whole=*/true);
        EXPECT_EQ(runs[i].on_device, static_cast<int>(runs[i].rounds.size()));
        for (const RoundRecord& round : alone.rounds)
          accepted += static_cast<int>(round.verdict.path.size());
        tally.Count(CaseResult::kProven);
      }
    }
  }
  EXPECT_GT(accepted, 20);
  EXPECT_TRUE(sizes.contains(emulated ? 3 : 8));
  ExpectCounts(tally, emulated ? 30 : 120);
}

INSTANTIATE_TEST_SUITE_P(All, DeviceBatches,
                         testing::Values("reference", "cpu", "emulated_gpu"),
                         [](const auto& row) { return row.param; });

// A sequence one of whose rows has no numbers fails alone.
TEST(DeviceBatches, GoOnWithoutASequenceThatFails) {
  constexpr TokenId kBad = 40;
  Models models("llama", BackendOf("cpu"));
  models.Spoil(kBad);
  auto decoder = DecoderOf(models, {"small_model",
                                    "chain {nodes: 2}",
                                    "greedy",
                                    DrawKind::kDeterministic,
                                    {.temperature = 0}});
  ASSERT_TRUE(decoder.ok()) << decoder.status();
  std::vector<Prompt> prompts = PromptsOf(3);
  prompts[1].tokens.back() = kBad;
  std::vector<Sequence> sequences;
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    auto sequence = decoder->Begin(prompts[i], StopOf(i, 12));
    ASSERT_TRUE(sequence.ok()) << sequence.status();
    sequences.push_back(*std::move(sequence));
  }
  std::vector<Sequence*> all = {&sequences[0], &sequences[1], &sequences[2]};
  SeededSource seeded(4);
  decoder->method().rounds = RoundsOn::kDevice;
  const auto records = decoder->StepAll(all, seeded);
  ASSERT_TRUE(records.ok()) << records.status();
  EXPECT_EQ((*records)[1].status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(sequences[1].failed.ok());
  EXPECT_FALSE(decoder->StepAll(all, seeded).ok());
  all.erase(all.begin() + 1);
  while (sequences[0].stopped == StopReason::kNone) {
    const auto more = decoder->StepAll(all, seeded);
    ASSERT_TRUE(more.ok()) << more.status();
    ASSERT_TRUE(more->front().ok()) << more->front().status();
    if (sequences[2].stopped != StopReason::kNone) all.resize(1);
  }
  decoder->method().rounds = RoundsOn::kHost;
  const Rounds alone = RoundsOf(*decoder, prompts[0], StopOf(0, 12), seeded);
  EXPECT_EQ(std::vector<TokenId>(
                sequences[0].context.tokens.begin() +
                    static_cast<std::ptrdiff_t>(prompts[0].tokens.size()),
                sequences[0].context.tokens.end()),
            alone.tokens);
}

}  // namespace
}  // namespace banyan
