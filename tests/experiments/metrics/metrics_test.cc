// What each metric counts, on rounds small enough to count by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "experiments/metrics/catalogue.h"
#include "experiments/metrics/estimate.h"
#include "experiments/metrics/metric.h"
#include "experiments/metrics/round_figures.h"
#include "experiments/records/record.pb.h"
#include "experiments/records/record_set.h"
#include "tests/experiments/metrics/hand_made.h"

namespace banyan {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::DoubleEq;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Pair;
using testing::SizeIs;

using Values = std::map<std::string, double, KeyLess>;

Values Measure(const std::string& name, const records::Cell& cell,
               const std::vector<records::PromptRecord>& records,
               const std::vector<records::PromptRecord>& baselines = {}) {
  std::vector<PromptPair> pairs;
  for (std::size_t i = 0; i < records.size(); ++i)
    pairs.push_back(
        {&cell, &records[i], baselines.empty() ? nullptr : &baselines[i]});
  const absl::StatusOr<const MetricRow*> metric = FindMetric(name);
  EXPECT_TRUE(metric.ok()) << metric.status();
  Values values;
  for (const auto& [key, estimate] : EstimateAll(**metric, pairs))
    values[key] = estimate.value;
  return values;
}

TEST(Metrics, CountTokensAndAcceptedTokensOfAPass) {
  const records::Cell cell = CellOf(2);
  // 3 tokens in 1 round, 2 in 2.
  EXPECT_THAT(Measure("tokens_per_pass", cell, {Tree(), Refusals()}),
              ElementsAre(Pair("", DoubleEq(5.0 / 3))));
  EXPECT_THAT(Measure("accepted_per_pass", cell, {Tree(), Refusals()}),
              ElementsAre(Pair("", DoubleEq(2.0 / 3))));
  EXPECT_THAT(Measure("tokens", cell, {Tree(), Refusals()}),
              ElementsAre(Pair("", 5)));
  EXPECT_THAT(Measure("rounds", cell, {Tree(), Refusals()}),
              ElementsAre(Pair("", 3)));
}

// What a stop rule cut is not a token; it was accepted all the same.
TEST(Metrics, CountNoTokensPastTheCut) {
  records::PromptRecord cut = Tree();
  cut.mutable_rounds(0)->set_emitted(1);
  cut.mutable_tokens()->Truncate(1);
  const records::Cell cell = CellOf(2);
  EXPECT_THAT(Measure("tokens_per_pass", cell, {cut}),
              ElementsAre(Pair("", 1)));
  EXPECT_THAT(Measure("accepted_per_pass", cell, {cut}),
              ElementsAre(Pair("", 1)));
  EXPECT_THAT(Measure("accepted_lengths", cell, {cut}),
              ElementsAre(Pair("length 2", 1)));
}

TEST(Metrics, CountAcceptanceByDepthOverAllRounds) {
  const Values values =
      Measure("acceptance_by_depth", CellOf(2), {Tree(), Refusals()});
  EXPECT_THAT(values, ElementsAre(Pair("depth 1", DoubleEq(1.0 / 3)),
                                  Pair("depth 2", DoubleEq(1.0 / 3))));
}

TEST(Metrics, CountConditionalAcceptanceWhereSomethingWasDrafted) {
  const Values values = Measure("conditional_acceptance_by_depth", CellOf(2),
                                {Tree(), Refusals()});
  // The round without draft is left out.
  EXPECT_THAT(values,
              ElementsAre(Pair("depth 1", DoubleEq(0.5)), Pair("depth 2", 1)));
}

TEST(Metrics, CountAcceptanceByRankOverReachedLists) {
  const Values values =
      Measure("acceptance_by_rank", CellOf(2), {Tree(), Refusals()});
  // Reached: four lists of the tree and two that were refused. Accepted were
  // the second draws at the root and the first of the second trunk below.
  EXPECT_THAT(values, ElementsAre(Pair("rank 1", DoubleEq(1.0 / 6)),
                                  Pair("rank 2", DoubleEq(2.0 / 6)),
                                  Pair("rank 3", 0)));
}

TEST(Metrics, CountAcceptanceAndGainByTrunk) {
  const records::Cell cell = CellOf(2);
  EXPECT_THAT(Measure("acceptance_by_trunk", cell, {Tree(), Refusals()}),
              ElementsAre(Pair("trunk 0 model", DoubleEq(0.5)),
                          Pair("trunk 1 ngram", DoubleEq(0.5))));
  EXPECT_THAT(Measure("gain_by_trunk", cell, {Tree(), Refusals()}),
              ElementsAre(Pair("trunk 0 model", 0),
                          Pair("trunk 1 ngram", DoubleEq(1.0 / 3))));
}

// Two rounds of two trunks: the first one's root has tokens of .5 and .2, one
// of them drawn twice, and then none; the second one's .2 in the second round.
TEST(Metrics, CountTheMassOfFirstTokensAtTheRoot) {
  records::PromptRecord record;
  AddRound({-1, 0, 0, 1},
           {{0, 0, {1, 1, 2}, 0.6}, {0, 1, {}, 0.4}, {1, 0, {3}, 0.4}}, {1},
           record);
  AddRound({-1, 0}, {{0, 0, {}, 0.6}, {0, 1, {1}, 0.4}}, {}, record);
  for (const double probability : {1.0, 0.5, 0.2, 0.9})
    record.mutable_rounds(0)->add_target_probability(probability);
  for (const double probability : {1.0, 0.2})
    record.mutable_rounds(1)->add_target_probability(probability);
  const Values values = Measure("success_at_root", CellOf(2), {record});
  EXPECT_THAT(values, SizeIs(10));
  EXPECT_THAT(values, IsSupersetOf({Pair("trunk 0 model, 1", DoubleEq(0.25)),
                                    Pair("trunk 0 model, 2", DoubleEq(0.35)),
                                    Pair("trunk 0 model, 5", DoubleEq(0.35)),
                                    Pair("trunk 1 ngram, 1", DoubleEq(0.1)),
                                    Pair("trunk 1 ngram, 2", DoubleEq(0.1))}));
}

TEST(Metrics, CountAlphaWhereVerificationLooked) {
  EXPECT_THAT(Measure("alpha", CellOf(2), {Tree()}),
              ElementsAre(Pair("", DoubleEq((0.6 + 0.2 + 0.4 + 0.8) / 4))));
}

// One trunk. Reached are three lists, of which two drew; their overlaps lack .4
// and .6 of 1.
TEST(Metrics, CountWhatAnEndlessChainOfSuchDraftsWouldGive) {
  records::PromptRecord record;
  AddRound({-1, 0, 1, 1},
           {{0, 0, {1}, 0.6}, {1, 0, {2, 3}, 0.4}, {2, 0, {}, 0.9}}, {1, 2},
           record);
  EXPECT_THAT(Measure("endless_chain", CellOf(1), {record}),
              ElementsAre(Pair("", DoubleEq(2 / 1.0))));
  // Four more that lack 1 each: prompts are added, not their numbers.
  records::PromptRecord hopeless;
  for (int i = 0; i < 4; ++i) AddRound({-1, 0}, {{0, 0, {1}, 0}}, {}, hopeless);
  EXPECT_THAT(Measure("endless_chain", CellOf(1), {record, hopeless}),
              ElementsAre(Pair("", DoubleEq(6 / 5.0))));
  EXPECT_THAT(Measure("endless_chain", CellOf(2), {record}), IsEmpty());
}

// The overlap is what a lossless verifier accepts, and no lossy one's rule.
TEST(Metrics, GiveNoAlphaOfALossyVerifier) {
  records::PromptRecord record;
  AddRound({-1, 0}, {{0, 0, {1}, 0.6}}, {1}, record);
  records::Cell cell = CellOf(1);
  for (const char* name : {"alpha", "endless_chain"})
    EXPECT_THAT(Measure(name, cell, {record}), SizeIs(1)) << name;
  cell.set_lossless(false);
  for (const char* name : {"alpha", "endless_chain"})
    EXPECT_THAT(Measure(name, cell, {record}), IsEmpty()) << name;
  EXPECT_THAT(Measure("acceptance_by_depth", cell, {record}),
              ElementsAre(Pair("depth 1", 1)));
}

TEST(Metrics, CountNodesAndWhatMergingSaves) {
  const records::Cell cell = CellOf(2);
  EXPECT_THAT(Measure("drafted_nodes", cell, {Tree(), Refusals()}),
              ElementsAre(Pair("", DoubleEq(5.0 / 3))));
  // Seven draws of the tree were kept, in four nodes.
  EXPECT_THAT(Measure("nodes_saved", cell, {Tree()}), ElementsAre(Pair("", 3)));
}

// Roots too; where rows are told, as of an unmerged tree, it is those.
TEST(Metrics, CountTheRowsOfPasses) {
  const records::Cell cell = CellOf(2);
  EXPECT_THAT(Measure("rows_per_pass", cell, {Tree(), Refusals()}),
              ElementsAre(Pair("", DoubleEq((5 + 2 + 1) / 3.0))));
  records::PromptRecord unmerged = Tree();
  unmerged.mutable_rounds(0)->set_pass_tokens(8);
  EXPECT_THAT(Measure("rows_per_pass", cell, {unmerged}),
              ElementsAre(Pair("", 8)));
}

// Nobody drew them: they cost rows of the pass and time, and are no drafts.
TEST(Metrics, CountProbesAsNothingButTime) {
  const records::Cell cell = CellOf(1);
  EXPECT_THAT(Measure("drafted_nodes", cell, {Probed()}),
              ElementsAre(Pair("", 1)));
  EXPECT_THAT(Measure("acceptance_by_depth", cell, {Probed()}),
              ElementsAre(Pair("depth 1", 0.5), Pair("depth 2", 0.5)));
  EXPECT_THAT(Measure("conditional_acceptance_by_depth", cell, {Probed()}),
              ElementsAre(Pair("depth 1", 1), Pair("depth 2", 1)));
  EXPECT_THAT(Measure("nodes_saved", cell, {Probed()}),
              ElementsAre(Pair("", 0)));
  EXPECT_THAT(Measure("tokens_per_pass", cell, {Probed()}),
              ElementsAre(Pair("", 2)));
  // Two levels; the baseline's passes take 8 us.
  EXPECT_THAT(Measure("drafter_cost", cell, {Probed()}, {Plain(4)}),
              ElementsAre(Pair("", DoubleEq(4.0 / 2 / 8)),
                          Pair("pass", DoubleEq(4.0 / 2 / 8))));
  EXPECT_EQ(PassTokens(Probed().rounds(0)), 6);
}

TEST(Metrics, CountTime) {
  const records::Cell cell = CellOf(2);
  // 4 + 10 + 6 * 0.5 us and 3 tokens.
  EXPECT_THAT(Measure("ms_per_token", cell, {Tree()}),
              ElementsAre(Pair("", DoubleEq(0.017 / 3))));
  EXPECT_THAT(Measure("time_shares", cell, {Tree()}),
              ElementsAre(Pair("commit", DoubleEq(1.5 / 17)),
                          Pair("derive", DoubleEq(0.5 / 17)),
                          Pair("draft", DoubleEq(4.0 / 17)),
                          Pair("target", DoubleEq(10.0 / 17)),
                          Pair("verify", DoubleEq(1.0 / 17))));
}

TEST(Metrics, CompareWithTheBaseline) {
  const records::Cell cell = CellOf(2);
  // Plain tokens take 10 us, and their passes 8 us.
  EXPECT_THAT(Measure("speed", cell, {Tree()}, {Plain(4)}),
              ElementsAre(Pair("", DoubleEq(3 / 17.0 * 10))));
  EXPECT_THAT(Measure("predicted_speed", cell, {Tree()}, {Plain(4)}),
              ElementsAre(Pair("", DoubleEq(3 / 14.0 * 8))));
  EXPECT_THAT(Measure("drafter_cost", cell, {Tree()}, {Plain(4)}),
              ElementsAre(Pair("", DoubleEq(2.0 / 8)),
                          Pair("pass", DoubleEq(4.0 / 8))));
  // Without a baseline there is nothing to say.
  for (const char* name : {"speed", "predicted_speed", "drafter_cost"})
    EXPECT_THAT(Measure(name, cell, {Tree()}), IsEmpty()) << name;
}

// Rounds that a device ran alone have one time and no phases.
TEST(Metrics, CountADevicesRoundsAsOneTime) {
  const records::Cell cell = CellOf(2);
  records::PromptRecord alone = Tree();
  for (records::Round& round : *alone.mutable_rounds()) {
    SetTimes(0, 0, 0, round);
    round.clear_draft_ns();
    round.set_device_ns(10'000);
    round.set_commit_ns(2'000);
  }
  const int rounds = alone.rounds_size();
  EXPECT_THAT(Measure("ms_per_token", cell, {alone}),
              ElementsAre(Pair("", DoubleEq(0.012 * rounds / 3))));
  EXPECT_THAT(Measure("time_shares", cell, {alone}),
              AllOf(Contains(Pair("device", DoubleEq(10.0 / 12))),
                    Contains(Pair("commit", DoubleEq(2.0 / 12))),
                    Contains(Pair("target", 0))));
  EXPECT_THAT(Measure("speed", cell, {alone}, {Plain(4)}), SizeIs(1));
  // Neither a round nor its plain one says what a level costs.
  for (const char* name : {"predicted_speed", "drafter_cost"}) {
    EXPECT_THAT(Measure(name, cell, {alone}, {Plain(4)}), IsEmpty()) << name;
    EXPECT_THAT(Measure(name, cell, {alone, Tree()}, {Plain(4), Plain(4)}),
                SizeIs(Measure(name, cell, {Tree()}, {Plain(4)}).size()))
        << name;
  }
}

TEST(Metrics, GiveTheBaselineASpeedOfOne) {
  const std::vector<records::PromptRecord> plain = {Plain(3), Plain(5)};
  for (const char* name : {"speed", "predicted_speed"}) {
    const records::Cell cell = CellOf(0);
    std::vector<PromptPair> pairs;
    for (const records::PromptRecord& record : plain)
      pairs.push_back({&cell, &record, &record});
    const KeyedEstimates estimates = EstimateAll(**FindMetric(name), pairs);
    if (std::string(name) == "speed") {
      EXPECT_EQ(estimates.at("").value, 1);
      EXPECT_EQ(estimates.at("").interval->low, 1);
      EXPECT_EQ(estimates.at("").interval->high, 1);
    } else {
      EXPECT_DOUBLE_EQ(estimates.at("").value, 1);
    }
  }
}

TEST(Metrics, FindTheFirstTokenThatIsNotTheBaselines) {
  records::Cell cell = CellOf(1);
  records::PromptRecord plain = Plain(4);
  for (const double gap : {0.5, 0.25, 3.0, 2.0}) plain.add_logit_gap(gap);
  records::PromptRecord other = plain;
  other.set_tokens(2, 8);
  records::PromptRecord shorter = plain;
  shorter.mutable_tokens()->Truncate(1);
  EXPECT_THAT(Measure("divergence", cell, {plain, other, shorter, plain},
                      {plain, plain, plain, plain}),
              ElementsAre(Pair("logit gap", DoubleEq((3.0 + 0.25) / 2)),
                          Pair("place", DoubleEq(1.5)), Pair("prompts", 0.5)));
  cell.set_temperature(1);
  EXPECT_THAT(Measure("divergence", cell, {other}, {plain}), IsEmpty());
}

TEST(Metrics, CompareNoTurnsThatWereAskedOtherwise) {
  const records::Cell cell = CellOf(1);
  const records::PromptRecord plain = Plain(4);
  records::PromptRecord other = plain;
  other.set_tokens(0, 8);
  other.add_prompt_tokens(3);
  EXPECT_THAT(Measure("divergence", cell, {plain, other}, {plain, plain}),
              ElementsAre(Pair("prompts", 0)));
}

TEST(Metrics, TakeTheLargestMemoryAndTheMeanLogProbability) {
  const records::Cell cell = CellOf(1);
  records::PromptRecord one = Plain(2);
  records::PromptRecord two = Plain(1);
  one.set_peak_memory_bytes(3 << 20);
  two.set_peak_memory_bytes(2 << 20);
  EXPECT_THAT(Measure("peak_memory", cell, {one, two}),
              ElementsAre(Pair("", 3)));
  for (int held : {3, 4}) {
    records::Store& store = *one.add_stores();
    store.set_trunk(1);
    store.set_unit("texts");
    store.set_held(static_cast<std::uint64_t>(held));
    store.set_dropped(2);
  }
  *two.add_stores() = one.stores(0);
  EXPECT_THAT(Measure("stores", cell, {one, two}),
              ElementsAre(Pair("trunk 1: texts dropped", 4),
                          Pair("trunk 1: texts held", 7)))
      << "of one record together, of several the largest";
  one.add_log_probability(-1);
  one.add_log_probability(-2);
  EXPECT_THAT(Measure("log_probability", cell, {one, two}),
              ElementsAre(Pair("", -1.5)));
}

TEST(Metrics, SayNothingOfWhatCannotBeCounted) {
  const records::Cell plain = CellOf(0);
  for (const char* name :
       {"accepted_per_pass", "alpha", "acceptance_by_depth",
        "conditional_acceptance_by_depth", "acceptance_by_rank",
        "success_at_root", "acceptance_by_trunk", "gain_by_trunk",
        "accepted_lengths", "nodes_saved", "log_probability", "peak_memory",
        "stores", "endless_chain", "oracle_by_curve"})
    EXPECT_THAT(Measure(name, plain, {Plain(3)}), IsEmpty()) << name;
  for (const MetricRow& row : MetricCatalogue())
    EXPECT_THAT(Measure(std::string(row.name), plain, {}), IsEmpty())
        << row.name;
}

// Prompts by number and id.
std::vector<records::PromptRecord> Prompts(
    const std::vector<std::pair<int, std::string>>& prompts) {
  std::vector<records::PromptRecord> records;
  for (const auto& [number, id] : prompts) {
    records.push_back(Plain(number + 1));
    records.back().set_prompt(static_cast<std::uint32_t>(number));
    records.back().set_id(id);
  }
  return records;
}

std::vector<PromptPair> Pairs(
    const std::vector<records::PromptRecord>& records) {
  std::vector<PromptPair> pairs;
  for (const records::PromptRecord& record : records)
    pairs.push_back({.record = &record});
  return pairs;
}

TEST(Metrics, DifferOverThePromptsOfOneNumberAndId) {
  const auto a = Prompts({{0, "a"}, {1, "b"}, {3, "c"}, {4, "d"}});
  const auto b = Prompts({{1, "b"}, {2, "x"}, {3, "another"}, {4, "d"}});
  const auto [left, right] = CommonPrompts(Pairs(a), Pairs(b));
  ASSERT_EQ(left.size(), 2);
  ASSERT_EQ(right.size(), 2);
  EXPECT_EQ(left[0].record, &a[1]);
  EXPECT_EQ(right[0].record, &b[0]);
  EXPECT_EQ(left[1].record, &a[3]);
  EXPECT_EQ(right[1].record, &b[3]);
  EXPECT_EQ(EstimateDifferences(**FindMetric("tokens"), Pairs(a), Pairs(b))
                .at("")
                .prompts,
            2);
}

TEST(Metrics, TakeTheTurnsOfAChatAsOnePrompt) {
  auto records = Prompts({{0, "a"}, {1, "b"}, {2, "a"}, {3, "b"}});
  records[2].set_turn(1);
  records[3].set_turn(1);
  const auto parts = CountPrompts(**FindMetric("tokens"), Pairs(records));
  ASSERT_EQ(parts.at("").size(), 2);
  EXPECT_EQ(parts.at("")[0].over, 1 + 3);
  EXPECT_EQ(parts.at("")[1].over, 2 + 4);
  EXPECT_EQ(EstimateAll(**FindMetric("tokens"), Pairs(records)).at("").prompts,
            2);
}

// Two prompts of a batch: three rounds they share, then one alone.
std::vector<records::PromptRecord> Batch() {
  std::vector<records::PromptRecord> batch = Prompts({{2, "a"}, {3, "b"}});
  for (records::PromptRecord& record : batch) {
    record.set_batch(1);
    record.set_batch_prompts(2);
    for (int round = 0; round < 3; ++round) {
      record.mutable_rounds(round)->set_sequences(2);
      record.mutable_rounds(round)->set_pass_tokens(2);
    }
  }
  batch[0].set_prefill_ns(1'000);
  batch[0].set_ended_ns(34'000);
  batch[1].set_admitted_ns(1'000);
  batch[1].set_prefill_ns(3'000);
  batch[1].set_ended_ns(44'000);
  return batch;
}

TEST(Metrics, ChargeEachPromptOfABatchItsShareOfSharedRounds) {
  const records::Cell cell = CellOf(0);
  // Plain rounds take 10 us, 8 of them in the target: 3 shared, 1 alone.
  EXPECT_THAT(Measure("ms_per_token", cell, Batch()),
              ElementsAre(Pair("", DoubleEq(0.040 / 7))));
  EXPECT_THAT(Measure("throughput", cell, Batch()),
              ElementsAre(Pair("", DoubleEq(7 / 44e-6))));
  EXPECT_THAT(Measure("latency", cell, Batch()),
              ElementsAre(Pair("", DoubleEq((0.034 + 0.043) / 7))));
  EXPECT_THAT(Measure("time_shares", cell, Batch()).at("target"),
              DoubleEq(0.8));
  EXPECT_THAT(Measure("rows_per_pass", cell, Batch()),
              ElementsAre(Pair("", 1)));
  const auto alone = Prompts({{2, "a"}, {3, "b"}});
  EXPECT_THAT(Measure("speed", cell, Batch(), alone),
              ElementsAre(Pair("", DoubleEq(70.0 / 40))));
  EXPECT_THAT(Measure("wall_speed", cell, Batch(), alone),
              ElementsAre(Pair("", DoubleEq(70.0 / 44))));
  EXPECT_THAT(Measure("wall_speed", cell, Batch()), IsEmpty());
}

TEST(Metrics, TimeAPromptAloneFromItsPrefillToItsEnd) {
  auto alone = Prompts({{4, "a"}});
  alone[0].set_prefill_ns(25'000);
  EXPECT_THAT(Measure("latency", CellOf(0), alone),
              ElementsAre(Pair("", DoubleEq(0.075 / 5))));
}

TEST(Metrics, TakeTheBatchAsOnePrompt) {
  std::vector<records::PromptRecord> records = Batch();
  records.push_back(Prompts({{9, "c"}})[0]);
  const auto parts = CountPrompts(**FindMetric("tokens"), Pairs(records));
  ASSERT_EQ(parts.at("").size(), 2);
  EXPECT_EQ(parts.at("")[0].over, 3 + 4);
  EXPECT_EQ(parts.at("")[1].over, 10);
}

// Also where the two sides were batched otherwise: prompts 0 and 1 depend on
// each other here, 1 and 2 there.
TEST(Metrics, TakePromptsThatShareABatchOnEitherSideAsOne) {
  auto a = Prompts({{2, "a"}, {3, "b"}, {4, "c"}, {5, "d"}});
  auto b = a;
  const auto prompts = [&] {
    return EstimateDifferences(**FindMetric("ms_per_token"), Pairs(a), Pairs(b))
        .at("")
        .prompts;
  };
  EXPECT_EQ(prompts(), 4);
  a[0].set_batch(1);
  a[1].set_batch(1);
  EXPECT_EQ(prompts(), 3);
  b[1].set_batch(1);
  b[2].set_batch(1);
  EXPECT_EQ(prompts(), 2);
  std::swap(a, b);
  EXPECT_EQ(prompts(), 2);
}

TEST(Metrics, KeepKeysInTheOrderOfTheirNumbers) {
  const KeyLess less;
  EXPECT_TRUE(less("depth 2", "depth 10"));
  EXPECT_FALSE(less("depth 10", "depth 2"));
  EXPECT_TRUE(less("trunk 0 ngram", "trunk 1 model"));
  EXPECT_TRUE(less("", "pass"));
  EXPECT_FALSE(less("depth 2", "depth 2"));
  EXPECT_TRUE(less("depth 02", "depth 2") != less("depth 2", "depth 02"));
}

TEST(Metrics, AreFoundByNameOrTheNearestIsNamed) {
  EXPECT_TRUE(FindMetric("speed").ok());
  EXPECT_THAT(std::string(FindMetric("sped").status().message()),
              HasSubstr("did you mean 'speed'?"));
}

}  // namespace
}  // namespace banyan
