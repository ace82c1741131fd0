// Sequences whose rounds are in part the host's, and rounds on a device that
// fail: no token is another one's for it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/token.h"
#include "core/ops/weight.h"
#include "core/random/random_source.h"
#include "decode/decoder.h"
#include "decode/host_cause.h"
#include "decode/method.h"
#include "decode/sequence.h"
#include "tests/core/checkpoint/files.h"
#include "tests/core/transformer/made_model.h"
#include "tests/core/transformer/walk.h"
#include "tests/decode/device_decoding.h"
#include "tests/decode/same_rounds.h"
#include "tests/support/dice.h"
#include "tree/draft_tree.h"

namespace banyan {
namespace {

// Path by path nothing but the host scores.
TEST(DeviceAndHost, LeaveUnmergedTreesToTheHost) {
  const Models models("llama");
  auto decoder = DecoderOf(models, {"small_model",
                                    "expansion {branching: [3, 2]}",
                                    "multi_round",
                                    DrawKind::kIndependent,
                                    {.temperature = 1}});
  ASSERT_TRUE(decoder.ok()) << decoder.status();
  const Prompt prompt = {.id = 1, .tokens = {1, 20, 5}};
  SeededSource seeded(3);
  const Rounds merged = RoundsOf(*decoder, prompt, 12, seeded);
  EXPECT_EQ(merged.on_device, static_cast<int>(merged.rounds.size()));
  decoder->method().scoring = Scoring::kUnmerged;
  SeededSource again(3);
  Rounds unmerged = RoundsOf(*decoder, prompt, 12, again);
  EXPECT_EQ(unmerged.on_device, 0);
  for (RoundRecord& round : unmerged.rounds) {
    EXPECT_GT(round.pass_tokens, round.tree.size());
    round.pass_tokens = round.tree.size();
  }
  ExpectSameRounds(merged, unmerged, /*whole=*/false);
}

// A text that outgrows the lengths a recording is for, and then the context:
// its last rounds, whose trees are cut, are the host's. A text may fill the
// context exactly, without such a round, and devices that round differently
// draw other texts: so there are three.
TEST(DeviceAndHost, GoOnWhereTheTextGrowsLong) {
  const MadeModel made({.layers = {0, 1}, .context_limit = 290});
  const MadeModel small({.layers = {0}, .context_limit = 290});
  Models models("llama");
  models.target = made.Load(models.backend, WeightFormat::kBf16);
  models.draft = small.Load(models.backend, WeightFormat::kBf16);
  Dice dice(2);
  const Prompt prompt = {.id = 1,
                         .tokens = RandomText(*models.target, 240, dice)};
  for (const char* policy :
       {"expansion {branching: [2, 1, 1]}", "chain {nodes: 2}"}) {
    auto decoder = DecoderOf(models, {"small_model",
                                      policy,
                                      "multi_round",
                                      DrawKind::kIndependent,
                                      {.temperature = 0.5}});
    ASSERT_TRUE(decoder.ok()) << decoder.status();
    int by_the_host = 0;
    for (const std::uint64_t seed : {5, 6, 7}) {
      SeededSource seeded(seed);
      Seedless seedless(seed);
      const Rounds device = RoundsOf(*decoder, prompt, 100, seeded);
      const Rounds host = RoundsOf(*decoder, prompt, 100, seedless);
      ExpectSameRounds(device, host, false);
      EXPECT_EQ(device.rounds.back().stopped, StopReason::kContext);
      EXPECT_GT(device.on_device, 5);
      by_the_host += static_cast<int>(device.rounds.size()) - device.on_device;
    }
    EXPECT_GT(by_the_host, 0) << policy;
  }
}

// A sequence that shares some of its rounds with another, which the host runs,
// gets what it gets alone.
TEST(DeviceAndHost, TakeTurnsWithTheHosts) {
  Models models("llama");
  for (const char* drafter :
       {"small_model", "small_model, trimmed", "medusa", "medusa, trimmed",
        "eagle1", "eagle1, trimmed", "eagle3_safeai, trimmed",
        "eagle31_fc_norm", "mtp_mimo"}) {
    if (std::string(drafter) == "eagle1") models.TakeEagleTarget();
    const DecodedSetting setting = {drafter,
                                    "expansion {branching: [2, 2]}",
                                    "without_replacement",
                                    DrawKind::kWithoutReplacement,
                                    {.temperature = 1}};
    auto decoder = DecoderOf(models, setting);
    ASSERT_TRUE(decoder.ok()) << decoder.status();
    const StopRule stop = {.max_new_tokens = 24};
    const Prompt prompts[] = {{.id = 1, .tokens = {1, 20, 5}},
                              {.id = 2, .tokens = {1, 33, 9, 4}}};
    std::vector<std::vector<TokenId>> alone;
    for (const Prompt& prompt : prompts) {
      Seedless seedless(4);
      auto tokens =
          decoder->Decode(prompt, stop, seedless, [](const RoundRecord&) {});
      ASSERT_TRUE(tokens.ok()) << tokens.status();
      alone.push_back(*tokens);
    }
    SeededSource seeded(4);
    auto one = decoder->Begin(prompts[0], stop);
    auto two = decoder->Begin(prompts[1], stop);
    ASSERT_TRUE(one.ok() && two.ok());
    int on_device = 0;
    for (int round = 0;
         one->stopped == StopReason::kNone || two->stopped == StopReason::kNone;
         ++round) {
      std::vector<Sequence*> going;
      for (Sequence* sequence : {&*one, &*two})
        if (sequence->stopped == StopReason::kNone) going.push_back(sequence);
      if (round % 3 != 2 && going.size() == 2) {  // one of them alone
        std::swap(going[0], going[static_cast<std::size_t>(round) % 3]);
        going.resize(1);
      }
      decoder->method().rounds =
          going.size() == 2 ? RoundsOn::kHost : RoundsOn::kAuto;
      const auto records = decoder->StepAll(going, seeded);
      ASSERT_TRUE(records.ok()) << records.status();
      on_device += RanOnDevice(*records->front()) ? 1 : 0;
    }
    EXPECT_GT(on_device, 4);
    const auto text = [](const Sequence& sequence, const Prompt& prompt) {
      return std::vector<TokenId>(
          sequence.context.tokens.begin() +
              static_cast<std::ptrdiff_t>(prompt.tokens.size()),
          sequence.context.tokens.end());
    };
    EXPECT_EQ(text(*one, prompts[0]), alone[0]) << drafter;
    EXPECT_EQ(text(*two, prompts[1]), alone[1]) << drafter;
  }
}

TEST(DeviceAndHost, AreTheHostsWhereNotAllPartsHaveTwins) {
  const Models models("llama");
  const auto on_device = [&](const std::string& policy,
                             const std::string& verifier, DrawKind draw_kind) {
    auto decoder = DecoderOf(
        models,
        {"small_model", policy, verifier, draw_kind, {.temperature = 1}});
    Check(decoder.ok(), decoder.status().message());
    SeededSource seeded(1);
    return RoundsOf(*decoder, {.id = 1, .tokens = {1, 20, 5}}, 6, seeded)
        .on_device;
  };
  const std::string chain = "chain {nodes: 2}";
  EXPECT_GT(on_device(chain, "multi_round", DrawKind::kIndependent), 0);
  EXPECT_EQ(
      on_device(chain, "multi_round {order: shuffled}", DrawKind::kIndependent),
      0);
  EXPECT_EQ(on_device(chain, "traversal", DrawKind::kIndependent), 0);
  EXPECT_EQ(on_device("best_first {most_draws: 3}", "multi_round",
                      DrawKind::kIndependent),
            0);
  auto decoder = DecoderOf(models, {"small_model",
                                    chain,
                                    "multi_round",
                                    DrawKind::kIndependent,
                                    {.temperature = 1}});
  ASSERT_TRUE(decoder.ok());
  decoder->StayOnHost();
  SeededSource seeded(1);
  EXPECT_EQ(
      RoundsOf(*decoder, {.id = 1, .tokens = {1, 20, 5}}, 6, seeded).on_device,
      0);
}

// Every cause has a name, and where rounds must be the device's it is an error
// that names it.
TEST(DeviceAndHost, SayWhyARoundIsTheHosts) {
  std::set<absl::string_view> names;
  for (int i = 0; i < kHostCauses; ++i) {
    names.insert(Name(static_cast<HostCause>(i)));
    EXPECT_NE(Meaning(static_cast<HostCause>(i)), "");
  }
  EXPECT_EQ(names.size(), static_cast<std::size_t>(kHostCauses));
  const Models models("llama");
  const DecodedSetting good = {"small_model",
                               "chain {nodes: 2}",
                               "multi_round",
                               DrawKind::kIndependent,
                               {.temperature = 1}};
  const Prompt prompt = {.id = 1, .tokens = {1, 20, 5}};
  // The first round's cause, and what a method says that wants it elsewhere.
  const auto cause = [&](Decoder& decoder, RandomSource& random,
                         const std::vector<TokenId>& prompt_tokens) {
    auto sequence = decoder.Begin({.id = 1, .tokens = prompt_tokens},
                                  {.max_new_tokens = 60});
    Check(sequence.ok(), sequence.status().message());
    const auto record = decoder.Step(*sequence, random);
    Check(record.ok(), record.status().message());
    decoder.method().rounds = RoundsOn::kDevice;
    auto again = decoder.Begin({.id = 1, .tokens = prompt_tokens},
                               {.max_new_tokens = 60});
    Check(again.ok(), again.status().message());
    const absl::Status refused = decoder.Step(*again, random).status();
    const bool ran = record->host_cause == HostCause::kNone;
    EXPECT_EQ(refused.ok(), ran) << refused;
    EXPECT_NE(refused.message().find(
                  ran ? "" : absl::StrCat("(", Name(record->host_cause), ")")),
              std::string::npos)
        << refused;
    return record->host_cause;
  };
  const auto of = [&](const DecodedSetting& setting, auto change) {
    auto decoder = DecoderOf(models, setting);
    Check(decoder.ok(), decoder.status().message());
    change(*decoder);
    SeededSource seeded(1);
    return cause(*decoder, seeded, prompt.tokens);
  };
  const auto as_it_is = [](Decoder&) {};
  EXPECT_EQ(of(good, as_it_is), HostCause::kNone);
  DecodedSetting other = good;
  other.verifier = "traversal";
  EXPECT_EQ(of(other, as_it_is), HostCause::kVerifier);
  other = good;
  other.policy = "best_first {most_draws: 3}";
  EXPECT_EQ(of(other, as_it_is), HostCause::kPolicy);
  other.policy = "expansion {branching: [2, 2], share_draws: true}";
  EXPECT_EQ(of(other, as_it_is), HostCause::kSharedDraws);
  EXPECT_EQ(of(good,
               [](Decoder& decoder) {
                 decoder.method().scoring = Scoring::kUnmerged;
               }),
            HostCause::kUnmerged);
  auto decoder = DecoderOf(models, good);
  ASSERT_TRUE(decoder.ok());
  Seedless seedless(1);
  EXPECT_EQ(cause(*decoder, seedless, prompt.tokens), HostCause::kNoSeed);
  decoder->method().rounds = RoundsOn::kAuto;
  std::vector<TokenId> text(
      static_cast<std::size_t>(models.target->context_limit() - 1), 7);
  SeededSource seeded(1);
  EXPECT_EQ(cause(*decoder, seeded, text), HostCause::kLongText);

  decoder->method().rounds = RoundsOn::kHost;
  auto one = decoder->Begin(prompt, {.max_new_tokens = 20});
  auto two =
      decoder->Begin({.id = 2, .tokens = {1, 9}}, {.max_new_tokens = 20});
  ASSERT_TRUE(one.ok() && two.ok());
  EXPECT_EQ(decoder->Step(*one, seeded)->host_cause, HostCause::kAsked);
  decoder->method().rounds = RoundsOn::kAuto;
  Sequence* both[] = {&*one, &*two};
  EXPECT_EQ(decoder->StepAll(both, seeded)->front()->host_cause,
            HostCause::kNone);
  EXPECT_EQ(decoder->Step(*one, seeded)->host_cause, HostCause::kNone);
  SeededSource another(2);
  EXPECT_EQ(decoder->Step(*one, another)->host_cause, HostCause::kAnotherSeed);

  const Models here("llama", BackendOf("cpu"));
  decoder = DecoderOf(here, good);
  ASSERT_TRUE(decoder.ok());
  auto third = decoder->Begin(prompt, {.max_new_tokens = 20});
  ASSERT_TRUE(third.ok());
  EXPECT_EQ(decoder->Step(*third, seeded)->host_cause, HostCause::kDefault);
  decoder->method().rounds = RoundsOn::kDevice;
  EXPECT_EQ(decoder->Step(*third, seeded)->host_cause, HostCause::kNone);
}

// A round that fails changes nothing, however often it is tried.
TEST(DeviceAndHost, ThatFailChangeNothing) {
  const Models models("llama");
  const DecodedSetting setting = {"small_model",
                                  "chain {nodes: 2}",
                                  "multi_round",
                                  DrawKind::kIndependent,
                                  {.banned = {}, .temperature = 1}};
  std::vector<TokenId> all;
  for (TokenId token = 0; token < models.target->vocab_size(); ++token)
    all.push_back(token);
  DecodedSetting nothing = setting;
  nothing.sampling.banned = all;
  auto decoder = DecoderOf(models, nothing);
  ASSERT_TRUE(decoder.ok()) << decoder.status();
  auto sequence =
      decoder->Begin({.id = 1, .tokens = {1, 20, 5}}, {.max_new_tokens = 6});
  ASSERT_TRUE(sequence.ok());
  const int length = sequence->session->length();
  SeededSource seeded(1);
  for (int attempt = 0; attempt < 3; ++attempt) {
    const auto record = decoder->Step(*sequence, seeded);
    EXPECT_EQ(record.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(record.status().message().find("no token is left"),
              std::string::npos)
        << record.status();
    EXPECT_EQ(sequence->session->length(), length);
    EXPECT_EQ(sequence->context.tokens.size(), 3U);
  }
}

// A token whose rows overflow: a round that reads such a row fails, alike on
// both and with the same words, and one that only has it in its tree does not.
TEST(DeviceAndHost, FailWhereARowThatIsReadIsNoLaw) {
  constexpr TokenId kBad = 40;
  Models models("llama");
  models.Spoil(kBad);
  int failed = 0;
  int passed_by = 0;
  for (std::uint64_t seed = 0; seed < 25; ++seed) {
    auto decoder = DecoderOf(models, {"small_model",
                                      "expansion {branching: [4, 2]}",
                                      "multi_round",
                                      DrawKind::kIndependent,
                                      {.temperature = 3}});
    ASSERT_TRUE(decoder.ok()) << decoder.status();
    SeededSource seeded(seed);
    Seedless seedless(seed);
    std::vector<absl::StatusOr<Sequence>> both;
    for (int i = 0; i < 2; ++i)
      both.push_back(decoder->Begin({.id = 1, .tokens = {1, 20, 5}},
                                    {.max_new_tokens = 9}));
    bool has_bad = false;
    while (both[0]->stopped == StopReason::kNone) {
      const auto device = decoder->Step(*both[0], seeded);
      const auto host = decoder->Step(*both[1], seedless);
      ASSERT_EQ(device.status(), host.status());
      EXPECT_EQ(both[0]->context.tokens, both[1]->context.tokens);
      EXPECT_EQ(both[0]->session->length(), both[1]->session->length());
      if (!device.ok()) {
        ++failed;
        break;
      }
      for (const Node& node : device->tree.nodes())
        has_bad = has_bad || node.token == kBad;
    }
    if (has_bad) ++passed_by;
  }
  EXPECT_GT(failed, 0);
  EXPECT_GT(passed_by, 0);
}

}  // namespace
}  // namespace banyan
