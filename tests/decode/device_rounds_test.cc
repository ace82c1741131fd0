// Rounds that the device runs alone against those of the host, on the device
// that this machine's processor makes of the same kernels: trees, verdicts and
// text are the same to the last bit.
#include "decode/device_rounds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/check.h"
#include "core/base/status_macros.h"
#include "core/base/token.h"
#include "core/device/cuda/host_device.h"
#include "core/ops/backend.h"
#include "core/ops/cuda/cuda_backend.h"
#include "core/ops/cuda/op_kernels.h"
#include "core/ops/weight.h"
#include "core/prob/distribution.h"
#include "core/prob/sampling_rule.h"
#include "core/random/random_source.h"
#include "core/random/seeded_source.h"
#include "core/transformer/transformer.h"
#include "decode/decoder.h"
#include "decode/method.h"
#include "decode/round.h"
#include "decode/sequence.h"
#include "drafters/drafter.h"
#include "drafters/eagle/eagle.h"
#include "drafters/eagle/head.h"
#include "drafters/medusa/heads.h"
#include "drafters/medusa/medusa.h"
#include "drafters/small_model/small_model.h"
#include "tests/core/checkpoint/files.h"
#include "tests/core/transformer/made_model.h"
#include "tests/core/transformer/walk.h"
#include "tests/decode/same_rounds.h"
#include "tests/drafters/made_heads.h"
#include "tests/support/decoding.h"
#include "tests/support/dice.h"
#include "tests/support/edited_model.h"
#include "tests/support/golden_model.h"
#include "tests/support/tally.h"
#include "tree/draft_tree.h"

namespace banyan {
namespace {

constexpr char kProgram[] = "device_rounds_test";

// A seeded source that does not tell its seed: whoever uses it asks the host.
class Seedless : public RandomSource {
 public:
  explicit Seedless(std::uint64_t seed) : source_(seed) {}
  bool Accept(double probability, const ChoiceKey& key) override {
    return source_.Accept(probability, key);
  }
  int Draw(const Weights& weights, const ChoiceKey& key) override {
    return source_.Draw(weights, key);
  }

 private:
  SeededSource source_;
};

// Heads of every layout (tests/goldens/eagle.py), and the target they are for.
constexpr char kEagles[] = "tests/goldens/eagle/";
const char* const kLayouts[] = {
    "eagle1",           "eagle1_plain",       "eagle3_safeai",
    "eagle3_specforge", "eagle3_speculators", "eagle3_four_taps",
    "eagle31_fc_norm",  "eagle31_input_norm", "mtp_mimo",
    "mtp_fast"};

// A target, a drafter of its kind and heads, on one device.
struct Models {
  explicit Models(const std::string& family,
                  std::shared_ptr<Backend> on = HostDeviceBackend())
      : backend(std::move(on)),
        target(LoadGolden(family, backend, WeightFormat::kBf16)),
        draft(LoadGolden(family, backend, WeightFormat::kQ8)) {
    WriteHeads(MakeHeads(*target).tensors, folder);
    auto loaded = LoadMedusaHeads(folder.path(), *target);
    Check(loaded.ok(), loaded.status().message());
    heads = *std::move(loaded);
  }

  // The target of the heads above takes the other one's place.
  void TakeEagleTarget() {
    target = LoadModel(absl::StrCat(kEagles, "target"), backend,
                       WeightFormat::kBf16);
  }

  TestFolder folder;
  std::shared_ptr<Backend> backend;
  std::shared_ptr<Transformer> target;
  std::shared_ptr<Transformer> draft;
  std::shared_ptr<const MedusaHeads> heads;
};

struct Setting {
  std::string drafter;  // a layout's is an EAGLE head
  std::string policy;
  std::string verifier;
  DraftLaw law;
  SamplingOptions sampling;

  std::string name() const {
    return absl::StrCat(drafter, ", ", policy, ", ", verifier, ", ", Name(law),
                        ", temperature ", sampling.temperature, ", top_k ",
                        sampling.top_k, ", top_p ", sampling.top_p);
  }
};

absl::StatusOr<Decoder> DecoderOf(const Models& models,
                                  const Setting& setting) {
  std::vector<Trunk> trunks;
  if (!setting.drafter.empty()) {
    const SamplingRule rule(setting.sampling);
    std::unique_ptr<Drafter> drafter;
    if (setting.drafter == "medusa") {
      drafter = std::make_unique<Medusa>(models.heads, rule);
    } else if (setting.drafter == "small_model") {
      drafter = std::make_unique<SmallModel>(models.draft, rule);
    } else {
      BANYAN_ASSIGN_OR_RETURN(
          std::shared_ptr<const EagleHead> head,
          LoadEagleHead(absl::StrCat(kEagles, setting.drafter),
                        *models.target));
      drafter = std::make_unique<Eagle>(std::move(head), rule);
    }
    trunks.push_back(TrunkOf(std::move(drafter), setting.policy, setting.law));
  }
  return WithTrunks(*models.target, setting.verifier, std::move(trunks),
                    setting.sampling);
}

Rounds RoundsOf(Decoder& decoder, const Prompt& prompt, int tokens,
                RandomSource& random) {
  const StopRule stop = {.end_of_text = {17}, .max_new_tokens = tokens};
  auto sequence = decoder.Begin(prompt, stop);
  Check(sequence.ok(), sequence.status().message());
  Rounds run;
  while (sequence->stopped == StopReason::kNone) {
    auto record = decoder.Step(*sequence, random);
    Check(record.ok(), record.status().message());
    if (sequence->stands_on_device) ++run.on_device;
    run.tokens.insert(run.tokens.end(), record->emitted.begin(),
                      record->emitted.end());
    run.rounds.push_back(*std::move(record));
  }
  return run;
}

const SamplingOptions kSamplings[] = {
    {.temperature = 1},
    {.temperature = 0.7, .top_p = 0.8},
    {.repetition_penalty = 1.3, .banned = {3, 5, 3}, .temperature = 1.2},
    {.temperature = 1.5, .top_k = 6, .min_p = 0.05},
    {.repetition_penalty = 0.8, .temperature = 2, .top_k = 9, .top_p = 0.95},
};

const char* const kPolicies[] = {
    "chain {gamma: 3}",
    "sequences {count: 3, gamma: 2}",
    "expansion {branching: [3, 2]}",
    "expansion {branching: [2, 2], share_draws: true}",
    "static {paths: [[0], [1], [0, 0], [0, 1], [1, 0], [0, 0, 0]]}",
    "sequoia {acceptance: [0.5, 0.2, 0.1], budget: 7}",
    "expand_rerank {top_k: 3, depth: 3, total: 6}"};

class DeviceRounds : public testing::TestWithParam<std::string> {};

// Every twin with every other that it goes with, at one sampling after another.
TEST_P(DeviceRounds, AreTheHostsToTheLastBit) {
  const bool eagle = GetParam() == "eagle";
  Models models("llama");
  if (eagle) models.TakeEagleTarget();
  Tally tally;
  std::size_t number = 0;
  int accepted = 0;
  for (const char* policy : kPolicies)
    for (const char* verifier : {"greedy", "match", "point_mass", "multi_round",
                                 "without_replacement"})
      for (DraftLaw law : kEveryLaw) {
        Setting setting = {
            eagle ? kLayouts[number % std::size(kLayouts)] : GetParam(), policy,
            verifier, law, kSamplings[number % std::size(kSamplings)]};
        if (std::string(verifier) == "greedy" || number % 4 == 3)
          setting.sampling.temperature = 0;
        SCOPED_TRACE(setting.name());
        auto decoder = DecoderOf(models, setting);
        const bool shares =
            setting.policy.find("share_draws") != std::string::npos &&
            setting.drafter != "medusa";
        if (IsRefusal(decoder.status()) || shares) {
          tally.Count(CaseResult::kUnlawful);
          continue;
        }
        ASSERT_TRUE(decoder.ok()) << decoder.status();
        const bool whole = number % 3 == 0;
        if (whole) decoder->KeepFacts();
        const Prompt prompt = {
            .id = static_cast<std::uint32_t>(number),
            .tokens = {1, static_cast<TokenId>(10 + number % 50), 5}};
        SeededSource seeded(number);
        Seedless seedless(number);
        const Rounds device = RoundsOf(*decoder, prompt, 9, seeded);
        const Rounds host = RoundsOf(*decoder, prompt, 9, seedless);
        ExpectSameRounds(device, host, whole);
        EXPECT_EQ(host.on_device, 0);
        EXPECT_EQ(device.on_device, static_cast<int>(device.rounds.size()));
        for (const RoundRecord& round : device.rounds)
          accepted += static_cast<int>(round.verdict.path.size());
        tally.Count(CaseResult::kProven);
        ++number;
      }
  // Else nothing was kept that was drafted. Heads are made up.
  EXPECT_GT(accepted, GetParam() == "small_model" ? 100 : 10);
  ExpectCounts(tally, kProgram);
}

INSTANTIATE_TEST_SUITE_P(All, DeviceRounds,
                         testing::Values("small_model", "medusa", "eagle"),
                         [](const auto& row) { return row.param; });

// Laws so flat that paths are accepted whole: what was kept of a round is read
// again in the next one, up to the longest that there can be.
TEST(DeviceRounds, ReadAgainWhatWasKeptOfLongPaths) {
  Models models("llama");
  models.TakeEagleTarget();
  std::size_t longest_of_all = 0;
  for (const char* layout : kLayouts) {
    const Setting setting = {layout,
                             "chain {gamma: 4}",
                             "multi_round",
                             DraftLaw::kIndependent,
                             {.temperature = 12}};
    SCOPED_TRACE(setting.name());
    auto decoder = DecoderOf(models, setting);
    ASSERT_TRUE(decoder.ok()) << decoder.status();
    const Prompt prompt = {.id = 1, .tokens = {1, 20, 5}};
    SeededSource seeded(6);
    Seedless seedless(6);
    const Rounds device = RoundsOf(*decoder, prompt, 30, seeded);
    ExpectSameRounds(device, RoundsOf(*decoder, prompt, 30, seedless), false);
    EXPECT_EQ(device.on_device, static_cast<int>(device.rounds.size()));
    std::size_t longest = 0;
    for (const RoundRecord& round : device.rounds)
      if (&round != &device.rounds.back())
        longest = std::max(longest, round.verdict.path.size());
    EXPECT_GE(longest, 2U);
    longest_of_all = std::max(longest_of_all, longest);
  }
  EXPECT_EQ(longest_of_all, 4U);
}

// Path by path nothing but the host scores.
TEST(DeviceRounds, LeaveUnmergedTreesToTheHost) {
  const Models models("llama");
  auto decoder = DecoderOf(models, {"small_model",
                                    "expansion {branching: [3, 2]}",
                                    "multi_round",
                                    DraftLaw::kIndependent,
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

TEST(DeviceRounds, DecodePlainly) {
  const Models models("qwen3");
  for (const SamplingOptions& sampling : kSamplings) {
    const Setting setting = {"", "", "match", DraftLaw::kIndependent, sampling};
    auto decoder = DecoderOf(models, setting);
    ASSERT_TRUE(decoder.ok()) << decoder.status();
    SeededSource seeded(3);
    Seedless seedless(3);
    const Prompt prompt = {.id = 1, .tokens = {1, 7, 9}};
    const Rounds device = RoundsOf(*decoder, prompt, 8, seeded);
    ExpectSameRounds(device, RoundsOf(*decoder, prompt, 8, seedless), true);
    EXPECT_EQ(device.on_device, static_cast<int>(device.rounds.size()));
    EXPECT_EQ(device.tokens,
              MustDecodePlainly(*models.target, SamplingRule(sampling), prompt,
                                {.end_of_text = {17}, .max_new_tokens = 8}, 3));
  }
}

// With a device's library, which takes weights as bfloat16s: nothing else of
// theirs is rounded, as the angles of rotations.
TEST(DeviceRounds, AreTheHostsWithFastProducts) {
  auto fast =
      CudaBackend::Create(std::make_shared<HostDevice>(HostDeviceOptions{}),
                          on_host::kOpKernels, "host", /*fast=*/true);
  ASSERT_TRUE(fast.ok()) << fast.status();
  const Models models("llama", *std::move(fast));
  for (const char* drafter : {"", "small_model"}) {
    auto decoder = DecoderOf(models, {drafter,
                                      "expansion {branching: [3, 2]}",
                                      *drafter == 0 ? "match" : "multi_round",
                                      DraftLaw::kIndependent,
                                      {.temperature = 1}});
    ASSERT_TRUE(decoder.ok()) << decoder.status();
    decoder->KeepFacts();
    const Prompt prompt = {.id = 1, .tokens = {1, 20, 5}};
    SeededSource seeded(3);
    Seedless seedless(3);
    const Rounds device = RoundsOf(*decoder, prompt, 12, seeded);
    ExpectSameRounds(device, RoundsOf(*decoder, prompt, 12, seedless), true);
    EXPECT_EQ(device.on_device, static_cast<int>(device.rounds.size()));
  }
}

// A text that outgrows the lengths a recording is for, and then the context:
// its last rounds, whose trees are cut, are the host's.
TEST(DeviceRounds, GoOnWhereTheTextGrowsLong) {
  const MadeModel made({.layers = {0, 1}, .context_limit = 290});
  const MadeModel small({.layers = {0}, .context_limit = 290});
  Models models("llama");
  models.target = made.Load(models.backend, WeightFormat::kBf16);
  models.draft = small.Load(models.backend, WeightFormat::kBf16);
  Dice dice(2);
  const Prompt prompt = {.id = 1,
                         .tokens = RandomText(*models.target, 240, dice)};
  for (const char* policy :
       {"expansion {branching: [2, 1, 1]}", "chain {gamma: 2}"}) {
    auto decoder = DecoderOf(models, {"small_model",
                                      policy,
                                      "multi_round",
                                      DraftLaw::kIndependent,
                                      {.temperature = 0.5}});
    ASSERT_TRUE(decoder.ok()) << decoder.status();
    SeededSource seeded(5);
    Seedless seedless(5);
    const Rounds device = RoundsOf(*decoder, prompt, 100, seeded);
    const Rounds host = RoundsOf(*decoder, prompt, 100, seedless);
    ExpectSameRounds(device, host, false);
    EXPECT_EQ(device.rounds.back().stopped, StopReason::kContext);
    EXPECT_GT(device.on_device, 5);
    EXPECT_LT(device.on_device, static_cast<int>(device.rounds.size()));
  }
}

// A sequence that shares some of its rounds with another, which the host runs,
// gets what it gets alone.
TEST(DeviceRounds, TakeTurnsWithTheHosts) {
  Models models("llama");
  for (const char* drafter :
       {"small_model", "medusa", "eagle1", "eagle31_fc_norm", "mtp_mimo"}) {
    if (std::string(drafter) == "eagle1") models.TakeEagleTarget();
    const Setting setting = {drafter,
                             "expansion {branching: [2, 2]}",
                             "without_replacement",
                             DraftLaw::kWithoutReplacement,
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
      const auto records = decoder->StepAll(going, seeded);
      ASSERT_TRUE(records.ok()) << records.status();
      on_device += going.front()->stands_on_device ? 1 : 0;
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

TEST(DeviceRounds, AreTheHostsWhereNotAllPartsHaveTwins) {
  const Models models("llama");
  const auto on_device = [&](const std::string& policy,
                             const std::string& verifier, DraftLaw law) {
    auto decoder = DecoderOf(
        models, {"small_model", policy, verifier, law, {.temperature = 1}});
    Check(decoder.ok(), decoder.status().message());
    SeededSource seeded(1);
    return RoundsOf(*decoder, {.id = 1, .tokens = {1, 20, 5}}, 6, seeded)
        .on_device;
  };
  const std::string chain = "chain {gamma: 2}";
  EXPECT_GT(on_device(chain, "multi_round", DraftLaw::kIndependent), 0);
  EXPECT_EQ(
      on_device(chain, "multi_round {order: shuffled}", DraftLaw::kIndependent),
      0);
  EXPECT_EQ(on_device(chain, "traversal", DraftLaw::kIndependent), 0);
  EXPECT_EQ(on_device("best_first {budget: 3}", "multi_round",
                      DraftLaw::kIndependent),
            0);
  auto decoder = DecoderOf(models, {"small_model",
                                    chain,
                                    "multi_round",
                                    DraftLaw::kIndependent,
                                    {.temperature = 1}});
  ASSERT_TRUE(decoder.ok());
  decoder->StayOnHost();
  SeededSource seeded(1);
  EXPECT_EQ(
      RoundsOf(*decoder, {.id = 1, .tokens = {1, 20, 5}}, 6, seeded).on_device,
      0);
}

// A round that fails changes nothing, however often it is tried.
TEST(DeviceRounds, ThatFailChangeNothing) {
  const Models models("llama");
  const Setting setting = {"small_model",
                           "chain {gamma: 2}",
                           "multi_round",
                           DraftLaw::kIndependent,
                           {.banned = {}, .temperature = 1}};
  std::vector<TokenId> all;
  for (TokenId token = 0; token < models.target->vocab_size(); ++token)
    all.push_back(token);
  Setting nothing = setting;
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
TEST(DeviceRounds, FailWhereARowThatIsReadIsNoLaw) {
  constexpr TokenId kBad = 40;
  Models models("llama");
  EditedModel edited(GoldenFolder("llama"));
  MadeTensor& embedding =
      edited.files().at("model.safetensors").at("model.embed_tokens.weight");
  for (int i = 0; i < models.target->hidden_size(); ++i)
    SetNumber(embedding, kBad * models.target->hidden_size() + i, 0x1p100F);
  edited.Write("model.safetensors");
  models.target = LoadModel(edited.path(), models.backend, WeightFormat::kBf16);
  int failed = 0;
  int passed_by = 0;
  for (std::uint64_t seed = 0; seed < 25; ++seed) {
    auto decoder = DecoderOf(models, {"small_model",
                                      "expansion {branching: [4, 2]}",
                                      "multi_round",
                                      DraftLaw::kIndependent,
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

TEST(DeviceRoundsCounts, AreEachOfATest) { ExpectATestForEveryCount(kProgram); }

}  // namespace
}  // namespace banyan
