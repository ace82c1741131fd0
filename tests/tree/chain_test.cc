// The fastest chain against a search of all lengths.
#include "tree/optimize/chain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tree/optimize/cost_curve.h"

namespace banyan {
namespace {

using testing::HasSubstr;

struct Machine {
  std::string name;
  std::map<int, double> ms;
  double draft_ms;
};

// Passes whose tokens are almost free, ones that pay for each, and ones that
// pay for the ninth token at once.
std::vector<Machine> Machines() {
  return {{"flat", {{1, 10}, {68, 10.5}}, .2},
          {"steep", {{1, 10}, {68, 340}}, .5},
          {"cliff", {{1, 10}, {8, 10.4}, {9, 30}, {68, 31}}, .3}};
}

CostCurve Curve(const std::map<int, double>& ms) {
  return CostCurve::FromMap("target_ms", ms).value();
}

// Tokens of a chain by adding up where it may end, one round in which nothing
// is drafted weighed in.
double Speedup(const std::vector<double>& acceptance, const Machine& machine,
               int length, double drafted, int sequences) {
  const CostCurve curve = Curve(machine.ms);
  double tokens = 0;
  double reached = 1;
  for (int accepted = 0; accepted <= length; ++accepted) {
    const double next =
        accepted == length ? 0 : acceptance[static_cast<std::size_t>(accepted)];
    tokens += reached * (1 - next) * (accepted + 1);
    reached *= next;
  }
  const double plain = curve.At(sequences).value();
  const double round =
      length * machine.draft_ms + curve.At(sequences * (length + 1)).value();
  return (drafted * tokens + (1 - drafted)) * plain /
         (drafted * round + (1 - drafted) * plain);
}

TEST(FastestChain, IsTheBestOfAllLengths) {
  const std::vector<std::vector<double>> drafters = {
      {.9, .9, .9, .9, .9, .9, .9, .9, .9, .9, .9, .9, .9, .9, .9, .9},
      {.8, .7, .6, .5, .4, .3, .2, .1},
      {.2, .9, .9, .9},
      {0, 0},
      {1, 1, 1}};
  std::map<std::string, std::map<int, int>> lengths;  // by machine, how often
  for (const Machine& machine : Machines())
    for (const std::vector<double>& acceptance : drafters)
      for (const double drafted : {1.0, .4})
        for (const int sequences : {1, 4}) {
          int best = 1;
          for (int length = 1; length <= static_cast<int>(acceptance.size());
               ++length)
            if (Speedup(acceptance, machine, length, drafted, sequences) >
                Speedup(acceptance, machine, best, drafted, sequences) + 1e-12)
              best = length;
          const auto choice =
              FastestChain(acceptance, Curve(machine.ms), machine.draft_ms,
                           drafted, sequences);
          ASSERT_TRUE(choice.ok()) << choice.status();
          EXPECT_EQ(choice->length, best) << machine.name;
          EXPECT_NEAR(choice->speedup,
                      Speedup(acceptance, machine, best, drafted, sequences),
                      1e-12)
              << machine.name;
          if (sequences == 1) ++lengths[machine.name][choice->length];
        }
  // They do not all choose alike: free tokens make it long, a cliff ends it.
  EXPECT_GT(lengths["flat"].rbegin()->first, 8);
  EXPECT_LT(lengths["steep"].rbegin()->first, 6);
  EXPECT_EQ(lengths["cliff"].rbegin()->first, 7);
}

TEST(FastestChain, RefusesWhatCannotBe) {
  const CostCurve curve = Curve({{1, 10}, {4, 11}});
  const auto refused = [&](const std::vector<double>& acceptance,
                           double draft_ms, double drafted) {
    const auto choice = FastestChain(acceptance, curve, draft_ms, drafted);
    return std::string(choice.status().message());
  };
  EXPECT_THAT(refused({}, 1, 1), HasSubstr("expected at least one depth"));
  EXPECT_THAT(refused({.5, 1.5}, 1, 1),
              HasSubstr("acceptance at depth 2 is 1.5"));
  EXPECT_THAT(refused({.5}, -1, 1), HasSubstr("draft_ms is -1"));
  EXPECT_THAT(refused({.5}, 1, 2), HasSubstr("rounds with draft tokens is 2"));
  EXPECT_THAT(refused({.5, .5, .5, .5}, 1, 1), HasSubstr("5"));  // tokens
  EXPECT_EQ(refused({.5, .5, .5}, 1, 1), "");
}

}  // namespace
}  // namespace banyan
