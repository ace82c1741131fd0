// What a truncation leaves is what SamplingRule leaves, to the last bit,
// however large the vocabulary is and however many masses are alike.
#include "core/round/truncate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/prob/distribution.h"
#include "core/prob/sampling_rule.h"
#include "core/round/distribution_step.h"
#include "core/round/workers.h"
#include "tests/support/dice.h"

namespace banyan {
namespace {

// The distribution of a row before truncation, as DistributionStep makes it.
std::vector<double> Masses(const std::vector<double>& logits) {
  const SamplingRule plain({.temperature = 1});
  const auto distribution = plain.Apply(logits, {}, {});
  EXPECT_TRUE(distribution.ok());
  std::vector<double> masses;
  for (std::size_t i = 0; i < logits.size(); ++i)
    masses.push_back(distribution->Mass(static_cast<int>(i)));
  return masses;
}

TEST(Truncation, LeavesWhatTheRuleLeaves) {
  Dice dice(3);
  int whole = 0;  // cases in which nearly all is kept
  for (int vocab : {3, 300, 2047, 2048, 5000, 40000})
    for (int distinct : {2, 40, 1 << 28})  // logits
      for (const SamplingOptions& options :
           {SamplingOptions{.top_k = 5}, SamplingOptions{.top_k = 900},
            SamplingOptions{.top_p = 0.3}, SamplingOptions{.top_p = 0.999},
            SamplingOptions{.min_p = 0.2}, SamplingOptions{.min_p = 1e-6},
            SamplingOptions{.top_k = 50000, .top_p = 0.9},
            SamplingOptions{.top_k = 30, .top_p = 0.5, .min_p = 0.1}}) {
        const double spread = dice.OneOf<double>({0.5, 8, 60});
        std::vector<double> logits(static_cast<std::size_t>(vocab));
        for (double& logit : logits)
          logit = dice.Below(distinct) * spread / distinct;
        std::vector<double> distributions = Masses(logits);
        const auto room = static_cast<std::size_t>(TruncationRoom(vocab));
        std::vector<std::int32_t> order(room, -5);
        const PlainNumbers<double> row = {distributions.data(), vocab};
        const PlainNumbers<std::int32_t> room_of = {
            order.data(), static_cast<std::int64_t>(room)};
        const DistributionRule rule = {.top_p = options.top_p,
                                       .min_p = options.min_p,
                                       .top_k = options.top_k};
        const OneWorker worker(vocab);
        Truncation(worker, vocab, row, 0, room_of, 0, rule).Run();
        SamplingOptions sampling = options;
        sampling.temperature = 1;
        const auto expected = SamplingRule(sampling).Apply(logits, {}, {});
        ASSERT_TRUE(expected.ok()) << expected.status();
        int kept = 0;
        for (int token = 0; token < vocab; ++token) {
          ASSERT_EQ(distributions[static_cast<std::size_t>(token)],
                    expected->Mass(token))
              << "token " << token << " of " << vocab << ", " << distinct
              << " distinct, top_k " << options.top_k << ", top_p "
              << options.top_p << ", min_p " << options.min_p;
          kept += distributions[static_cast<std::size_t>(token)] > 0 ? 1 : 0;
        }
        whole += vocab > 2048 && kept > vocab / 2 ? 1 : 0;
      }
  EXPECT_GT(whole, 5) << "no truncation needed a second look";
}

}  // namespace
}  // namespace banyan
