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

#include "absl/strings/strip.h"
#include "core/base/token.h"
#include "core/device/cuda/host_device.h"
#include "core/ops/cuda/cuda_backend.h"
#include "core/ops/cuda/kernels/op_kernels.h"
#include "core/prob/sampling_rule.h"
#include "core/random/random_source.h"
#include "decode/decoder.h"
#include "decode/method.h"
#include "decode/sequence.h"
#include "tests/core/transformer/walk.h"
#include "tests/decode/device_decoding.h"
#include "tests/decode/same_rounds.h"
#include "tests/support/decoding.h"
#include "tests/support/sanitized.h"
#include "tests/support/tally.h"
#include "tree/draft_tree.h"

namespace banyan {
namespace {

// EAGLE heads of every layout.
const char* const kLayouts[] = {
    "eagle1",           "eagle1_plain",       "eagle3_safeai",
    "eagle3_specforge", "eagle3_speculators", "eagle3_four_taps",
    "eagle31_fc_norm",  "eagle31_input_norm", "mtp_mimo",
    "mtp_fast"};

const SamplingOptions kSamplings[] = {
    {.temperature = 1},
    {.temperature = 0.7, .top_p = 0.8},
    {.repetition_penalty = 1.3, .banned = {3, 5, 3}, .temperature = 1.2},
    {.temperature = 1.5, .top_k = 6, .min_p = 0.05},
    {.repetition_penalty = 0.8, .temperature = 2, .top_k = 9, .top_p = 0.95},
};

const char* const kPolicies[] = {
    "chain {nodes: 3}",
    "sequences {width: 3, levels: 2}",
    "expansion {branching: [3, 2]}",
    "expansion {branching: [2, 2], share_draws: true}",
    "static {paths: [[0], [1], [0, 0], [0, 1], [1, 0], [0, 0, 0]]}",
    "sequoia {acceptance: [0.5, 0.2, 0.1], nodes: 7}",
    "expand_rerank {width: 3, levels: 3, nodes: 6}"};

class DeviceRounds : public testing::TestWithParam<std::string> {};

// Compares every device drafter with every compatible policy and verifier, each
// pairing under the next sampling options: in plain loops all, and as kernels,
// which take a hundred times as long, every second pairing; under sanitizers
// every sixth.
TEST_P(DeviceRounds, AreTheHostsToTheLastBit) {
  // In plain loops of the processor, or as kernels.
  absl::string_view drafter = GetParam();
  const bool on_cpu = absl::ConsumePrefix(&drafter, "cpu_");
  const bool eagle = drafter == "eagle";
  Models models("llama", on_cpu ? BackendOf("cpu") : HostDeviceBackend());
  if (eagle) models.TakeEagleTarget();
  Tally tally;
  std::size_t number = 0;
  std::size_t pairing = 0;
  int accepted = 0;
  for (const char* policy : kPolicies)
    for (const char* verifier : {"greedy", "match", "point_mass", "multi_round",
                                 "without_replacement"})
      for (DrawKind draw_kind : kDrawKinds) {
        DecodedSetting setting = {eagle ? kLayouts[number % std::size(kLayouts)]
                                        : std::string(drafter),
                                  policy, verifier, draw_kind,
                                  kSamplings[number % std::size(kSamplings)]};
        if (std::string(verifier) == "greedy" || number % 4 == 3)
          setting.sampling.temperature = 0;
        if (number % 2 == 1) setting.drafter += kTrimmed;
        if (!on_cpu && pairing++ % (kSanitized ? 6 : 2) != 0) continue;
        SCOPED_TRACE(setting.name());
        auto decoder = DecoderOf(models, setting);
        const bool shares =
            setting.policy.find("share_draws") != std::string::npos &&
            drafter != "medusa";
        if (IsRefusal(decoder.status()) || shares) {
          tally.Count(CaseResult::kUnlawful);
          continue;
        }
        ASSERT_TRUE(decoder.ok()) << decoder.status();
        const Rounds device = OwnRoundsOf(*decoder, number, 9);
        for (const RoundRecord& round : device.rounds)
          accepted += static_cast<int>(round.verdict.path.size());
        tally.Count(CaseResult::kProven);
        ++number;
      }
  // Else nothing was kept that was drafted. Heads are made up.
  EXPECT_GT(accepted,
            (drafter == "small_model" ? 100 : 10) / (on_cpu       ? 1
                                                     : kSanitized ? 6
                                                                  : 2));
  if (!kSanitized || on_cpu) ExpectCounts(tally, on_cpu ? 70 : 35);
}

INSTANTIATE_TEST_SUITE_P(All, DeviceRounds,
                         testing::Values("small_model", "medusa", "eagle",
                                         "cpu_small_model", "cpu_medusa",
                                         "cpu_eagle"),
                         [](const auto& row) { return row.param; });

// Distributions so flat that whole paths are accepted: the next round reads
// what a round kept, up to the longest possible path.
TEST(DeviceRounds, ReadAgainWhatWasKeptOfLongPaths) {
  Models models("llama");
  models.TakeEagleTarget();
  std::size_t longest_of_all = 0;
  for (const char* layout : kLayouts) {
    const DecodedSetting setting = {layout,
                                    "chain {nodes: 4}",
                                    "multi_round",
                                    DrawKind::kIndependent,
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

TEST(DeviceRounds, DecodePlainly) {
  const Models models("qwen3");
  for (const SamplingOptions& sampling : kSamplings) {
    const DecodedSetting setting = {"", "", "match", DrawKind::kIndependent,
                                    sampling};
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
                          on_host::kOpKernels, "emulated_gpu", /*fast=*/true);
  ASSERT_TRUE(fast.ok()) << fast.status();
  const Models models("llama", *std::move(fast));
  for (const char* drafter : {"", "small_model"}) {
    auto decoder = DecoderOf(models, {drafter,
                                      "expansion {branching: [3, 2]}",
                                      *drafter == 0 ? "match" : "multi_round",
                                      DrawKind::kIndependent,
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

}  // namespace
}  // namespace banyan
