#include "experiments/timing/pass_timing.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "core/base/clock.h"
#include "core/ops/backend.h"
#include "core/ops/weight.h"
#include "tests/core/transformer/walk.h"
#include "tests/support/made/golden_model.h"

namespace banyan {
namespace {

TEST(Cliffs, AreWhereTimeGrowsFasterThanTokens) {
  const auto timing = [](int context, int tokens, double least, double most) {
    return PassTiming{context, tokens, {{least}, {(least + most) / 2}, {most}}};
  };
  const std::vector<Cliff> cliffs =
      Cliffs({timing(128, 1, 1.0, 1.2), timing(128, 8, 1.1, 1.3),
              timing(128, 9, 1.7, 1.9),
              timing(128, 16, 2.0, 9.0),  // its quickest pass was no slower
              timing(512, 17, 9.0, 9.2)});
  ASSERT_EQ(cliffs.size(), 1U);
  EXPECT_EQ(cliffs[0].context, 128);
  EXPECT_EQ(cliffs[0].before, 8);
  EXPECT_EQ(cliffs[0].tokens, 9);
  EXPECT_DOUBLE_EQ(cliffs[0].times, 1.5);
}

// A device's rounds commit a token each: the text is begun anew in time.
TEST(TimePasses, GoOnAtTheEndOfTheContextWhereTheDeviceRunsRounds) {
  const std::shared_ptr<Backend> backend = HostDeviceBackend();
  const auto model = LoadGolden("llama", backend, WeightFormat::kBf16);
  const SteadyClock clock;
  const int limit = model->context_limit();
  const RoundPlan plan = {.judge = JudgeKind::kGreedy};
  ASSERT_TRUE(model->NewDeviceRound(*model->NewSession(), plan, {}).ok());
  const auto timings = TimePasses(
      *model, *backend,
      {.batches = {1, 5}, .contexts = {3, limit - 12, limit - 5}, .rounds = 4},
      clock, [](int, int) {});
  ASSERT_TRUE(timings.ok()) << timings.status();
  ASSERT_EQ(timings->size(), 6U);
  for (const PassTiming& timing : *timings) {
    EXPECT_EQ(timing.passes.size(), 4U);
    EXPECT_GT(timing.least_ms(), 0);
  }
}

TEST(TimePasses, EndWhereTheTimedOnesTookEnough) {
  const std::shared_ptr<Backend> backend = HostDeviceBackend();
  const auto model = LoadGolden("llama", backend, WeightFormat::kBf16);
  const SteadyClock clock;
  TimingOptions options = {
      .batches = {1, 5}, .contexts = {3}, .enough_ms = 0, .read_limits = false};
  const auto rounds = [&] {
    const auto timings =
        TimePasses(*model, *backend, options, clock, [](int, int) {});
    EXPECT_TRUE(timings.ok()) << timings.status();
    EXPECT_EQ(timings->front().passes.front().bandwidth, 0);
    return timings->front().passes.size();
  };
  EXPECT_EQ(rounds(), 3U);
  options.enough_ms = 1e9;
  EXPECT_EQ(rounds(), 9U);
}

}  // namespace
}  // namespace banyan
