// Times of recorded rounds at costs that a file states, counted by hand.
#include "experiments/report/stated_costs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "core/base/common.h"
#include "experiments/metrics/catalogue.h"
#include "experiments/metrics/estimate.h"
#include "experiments/metrics/round_figures.h"
#include "experiments/records/record.pb.h"
#include "experiments/records/record_set.h"
#include "tests/experiments/metrics/hand_made.h"
#include "tests/experiments/test_files.h"

namespace banyan {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class StatedCostsTest : public FolderTest {
 protected:
  static absl::StatusOr<StatedCosts> Read(const std::string& text) {
    WriteText(OwnFolder() + "/gpu.yaml", text);
    return ReadStatedCosts(OwnFolder() + "/gpu.yaml");
  }

  // What is said of reading `text`.
  static std::string Refusal(const std::string& text) {
    return std::string(Read(text).status().message());
  }

  // Two prompts of a cell with two trunks, and their baseline of 4 and 3
  // tokens.
  StatedCostsTest() {
    set_.cells.push_back(
        {.name = "merged", .baseline = "plain", .cell = &cell_});
    set_.cells.push_back({.name = "plain", .cell = &plain_cell_});
    for (std::size_t i = 0; i < records_.size(); ++i) {
      set_.cells[0].pairs.push_back({&cell_, &records_[i], &baselines_[i]});
      set_.cells[1].pairs.push_back(
          {&plain_cell_, &baselines_[i], &baselines_[i]});
    }
  }

  // What is said of the set at the costs of `text`.
  std::string Stating(const std::string& text) {
    const absl::StatusOr<StatedCosts> costs = Read(text);
    EXPECT_TRUE(costs.ok()) << costs.status();
    return std::string(StateTimes(*costs, set_).message());
  }

  KeyedEstimates Predicted(int cell,
                           absl::string_view metric = kPredictedByCurve) const {
    return EstimateAll(**FindMetric(metric),
                       set_.cells[static_cast<std::size_t>(cell)].pairs);
  }

  records::Cell cell_ = CellOf(2);
  records::Cell plain_cell_ = CellOf(0);
  std::vector<records::PromptRecord> records_ = {Tree(), Refusals()};
  std::vector<records::PromptRecord> baselines_ = {Plain(4), Plain(3)};
  RecordSet set_;
};

TEST_F(StatedCostsTest, CountTheLevelsOfEachTrunkThatWereKept) {
  EXPECT_THAT(LevelsByTrunk(records_[0].rounds(0), 2), ElementsAre(2, 2));
  // The second trunk's only draw was dropped.
  EXPECT_THAT(LevelsByTrunk(records_[1].rounds(0), 2), ElementsAre(1, 0));
  EXPECT_THAT(LevelsByTrunk(records_[1].rounds(1), 2), ElementsAre(0, 0));
}

TEST_F(StatedCostsTest, AddPassesBySizeAndLevelsByDrafter) {
  EXPECT_EQ(Stating("passes: [{ms: {1: 10, 5: 12}}]\n"
                    "levels: [{ms: {model: 1, ngram: 0.25, other: 7}}]\n"),
            "");
  const std::vector<PromptPair>& pairs = set_.cells[0].pairs;
  // A tree of 5, two levels of both trunks.
  EXPECT_DOUBLE_EQ(pairs[0].stated->ms, 12 + 2 * 1 + 2 * 0.25);
  // A tree of 2, one level of the first trunk; then nothing drafted.
  EXPECT_DOUBLE_EQ(pairs[1].stated->ms, (10.5 + 1) + 10);
  EXPECT_DOUBLE_EQ(pairs[0].stated->baseline_ms, 4 * 10);
  EXPECT_DOUBLE_EQ(pairs[1].stated->baseline_ms, 3 * 10);
  // 5 tokens in 36 ms, against 7 in 70.
  const Estimate speed = Predicted(0).at("gpu.yaml");
  EXPECT_DOUBLE_EQ(speed.value, 5 / 36.0 * 10);
  EXPECT_EQ(speed.prompts, 2);
  // One prompt alone says 3 tokens in 14.5 ms, the other 2 in 21.5.
  EXPECT_GT(speed.interval->high, 3 / 14.5 * 10);
  EXPECT_LT(speed.interval->low, 2 / 21.5 * 10);
  EXPECT_EQ(Predicted(1).at("gpu.yaml").value, 1);
}

TEST_F(StatedCostsTest, ChargeThePassForProbesAndNobodyForTheirLevels) {
  records_ = {Probed(), Probed()};
  EXPECT_EQ(Stating("passes: [{ms: {1: 10, 3: 11, 6: 17}}]\nlevels: [{ms: "
                    "{other: 0.5}}]\n"),
            "");
  EXPECT_DOUBLE_EQ(set_.cells[0].pairs[0].stated->ms, (17 + 2 * 0.5) + 11);
}

// One trunk's chains: three drafts of which one is accepted, then two of which
// none is; and two that are accepted, where the text was cut after the first.
TEST_F(StatedCostsTest, ChargeAnOracleForWhatWasKeptAlone) {
  cell_ = CellOf(1);
  records_ = {{}, {}};
  AddRound({-1, 0, 1, 2}, {{0, 0, {1}}, {1, 0, {2}}, {2, 0, {3}}}, {1},
           records_[0]);
  AddRound({-1, 0, 1}, {{0, 0, {1}}, {1, 0, {2}}}, {}, records_[0]);
  AddRound({-1, 0, 1}, {{0, 0, {1}}, {1, 0, {2}}}, {1, 2}, records_[1])
      .set_emitted(1);
  records_[1].mutable_tokens()->Truncate(1);
  EXPECT_EQ(
      Stating("passes: [{ms: {1: 10, 5: 12}}]\nlevels: [{ms: {model: 1}}]\n"),
      "");
  const std::vector<PromptPair>& pairs = set_.cells[0].pairs;
  EXPECT_DOUBLE_EQ(pairs[0].stated->ms, (11.5 + 3) + (11 + 2));
  EXPECT_DOUBLE_EQ(pairs[0].stated->oracle_ms.value(), (10.5 + 1) + 10);
  EXPECT_DOUBLE_EQ(pairs[1].stated->oracle_ms.value(), 10.5 + 1);
  // 4 tokens in 33 ms, against 7 in 70.
  const Estimate speed = Predicted(0, "oracle_by_curve").at("gpu.yaml");
  EXPECT_DOUBLE_EQ(speed.value, 4 / 33.0 * 10);
  EXPECT_EQ(speed.prompts, 2);
  EXPECT_GT(speed.value, Predicted(0).at("gpu.yaml").value);
}

TEST_F(StatedCostsTest, LeaveProbesToTheOracle) {
  cell_ = CellOf(1);
  records_ = {Probed(), Probed()};
  EXPECT_EQ(Stating("passes: [{ms: {1: 10, 3: 11, 6: 17}}]\nlevels: [{ms: "
                    "{other: 0.5}}]\n"),
            "");
  EXPECT_DOUBLE_EQ(set_.cells[0].pairs[0].stated->oracle_ms.value(),
                   (17 + 2 * 0.5) + 11);
}

// Nobody knows who would not have drafted, or how wide the pass would have
// been.
TEST_F(StatedCostsTest, SayNothingOfAnOracleOfTrunksOrSharedRounds) {
  const std::string text =
      "passes: [{ms: {1: 10, 5: 12}}]\nlevels: [{ms: {other: 1}}]\n";
  EXPECT_EQ(Stating(text), "");
  EXPECT_TRUE(Predicted(0, "oracle_by_curve").empty());
  EXPECT_TRUE(Predicted(1, "oracle_by_curve").empty());  // no trunk
  cell_ = CellOf(1);
  records_ = {{}, {}};
  for (records::PromptRecord& record : records_)
    AddRound({-1, 0}, {{0, 0, {1}}}, {1}, record);
  EXPECT_TRUE(Predicted(0, "oracle_by_curve").empty());  // not stated yet
  EXPECT_EQ(Stating(text), "");
  EXPECT_EQ(Predicted(0, "oracle_by_curve").at("gpu.yaml").prompts, 2);
  records_[1].mutable_rounds(0)->set_sequences(2);
  EXPECT_EQ(Stating(text), "");
  EXPECT_EQ(Predicted(0, "oracle_by_curve").at("gpu.yaml").prompts, 1);
  for (PromptPair& pair : set_.cells[0].pairs) pair.baseline = nullptr;
  EXPECT_EQ(Stating(text), "");
  EXPECT_TRUE(Predicted(0, "oracle_by_curve").empty());
}

// One made of drafters has its own cost, or that of its kind.
TEST_F(StatedCostsTest, KnowADrafterByItsPartsFirst) {
  cell_.mutable_trunks(1)->set_drafter("relay(ngram, copy)");
  const std::string costs =
      "passes: [{ms: {1: 10, 5: 12}}]\nlevels: [{ms: {model: 1, ";
  EXPECT_EQ(Stating(costs + "\"relay(ngram, copy)\": 0.5, relay: 3}}]\n"), "");
  EXPECT_DOUBLE_EQ(set_.cells[0].pairs[0].stated->ms, 12 + 2 * 1 + 2 * 0.5);
  EXPECT_EQ(Stating(costs + "\"relay(copy, ngram)\": 0.5, relay: 3}}]\n"), "");
  EXPECT_DOUBLE_EQ(set_.cells[0].pairs[0].stated->ms, 12 + 2 * 1 + 2 * 3);
  EXPECT_EQ(Stating(costs + "\"relay(copy, ngram)\": 0.5, other: 4}}]\n"), "");
  EXPECT_DOUBLE_EQ(set_.cells[0].pairs[0].stated->ms, 12 + 2 * 1 + 2 * 4);
  EXPECT_THAT(Stating(costs + "\"relay(copy, ngram)\": 0.5}}]\n"),
              HasSubstr("no cost for 'relay(ngram, copy)'"));
}

TEST_F(StatedCostsTest, TakeOneCostForAllDrafters) {
  EXPECT_EQ(
      Stating("passes: [{ms: {1: 10, 5: 12}}]\nlevels: [{ms: {other: 0.5}}]\n"),
      "");
  EXPECT_DOUBLE_EQ(set_.cells[0].pairs[0].stated->ms, 12 + 4 * 0.5);
  EXPECT_DOUBLE_EQ(set_.cells[0].pairs[1].stated->ms, 10.5 + 0.5 + 10);
}

TEST_F(StatedCostsTest, SayNothingWithoutABaselineOrCosts) {
  EXPECT_TRUE(Predicted(0).empty());
  for (PromptPair& pair : set_.cells[0].pairs) pair.baseline = nullptr;
  EXPECT_EQ(
      Stating("passes: [{ms: {1: 10, 5: 12}}]\nlevels: [{ms: {other: 0}}]\n"),
      "");
  EXPECT_TRUE(Predicted(0).empty());
}

TEST_F(StatedCostsTest, AreReadThroughAnInclude) {
  const std::string text =
      "passes: [{ms: !include measured.yaml}]\nlevels: [{ms: {other: 0}}]\n";
  WriteText(OwnFolder() + "/measured.yaml", "# a comment\n1: 10\n5: 12\n");
  EXPECT_EQ(Stating(text), "");
  EXPECT_DOUBLE_EQ(set_.cells[0].pairs[0].stated->ms, 12);
  WriteText(OwnFolder() + "/measured.yaml", "1: 10\n5: -12\n");
  EXPECT_THAT(Refusal(text),
              HasSubstr("measured.yaml:2:4: ms is -12 at 5 tokens"));
}

TEST_F(StatedCostsTest, MustCoverEverySizeAndEveryDrafter) {
  EXPECT_THAT(
      Stating("passes: [{ms: {1: 10, 4: 12}}]\nlevels: [{ms: {other: 0}}]\n"),
      AllOf(HasSubstr("gpu.yaml:1:10: passes is needed at 5 tokens "
                      "but given from 1 to 4"),
            HasSubstr("add the key 5")));
  EXPECT_THAT(
      Stating("passes: [{ms: {2: 10, 5: 12}}]\nlevels: [{ms: {other: 0}}]\n"),
      HasSubstr("gpu.yaml:1:10: passes is needed at 1 tokens"));
  EXPECT_THAT(Stating("passes: [{ms: {1: 10, 5: 12}}]\n"
                      "levels: [{ms: {model: 1, engram: 2}}]\n"),
              HasSubstr("gpu.yaml:2:23: `levels` have no cost for 'ngram', "
                        "which drafts for merged; known: engram, model"));
}

// Or speeds would be infinite.
TEST_F(StatedCostsTest, AreTimesThatAPassMayTake) {
  EXPECT_THAT(
      Refusal("passes: [{ms: {1: 1e-308}}]\nlevels: [{ms: {other: 0}}]\n"),
      HasSubstr("gpu.yaml:1:19: expected milliseconds a pass, from "
                "1e-06 to 1e+09"));
  EXPECT_THAT(
      Refusal("passes: [{ms: {1: 1}}]\nlevels: [{ms: {other: 1e308}}]\n"),
      HasSubstr("gpu.yaml:2:23: expected milliseconds a level, from 0 "
                "to 1e+09"));
}

// One message is enough to mend the curve.
TEST_F(StatedCostsTest, NameTheLargestSizeThatIsMissing) {
  std::swap(records_[0], records_[1]);
  EXPECT_THAT(Stating("passes: [{ms: {1: 10}}]\nlevels: [{ms: {other: 0}}]\n"),
              HasSubstr("passes is needed at 5 tokens"));
}

TEST_F(StatedCostsTest, WarnOfPassesThatStandForOtherTargets) {
  const std::string levels = "levels: [{ms: {other: 0}}]\n";
  const std::string any = "passes: [{ms: {1: 10, 5: 12}}]\n" + levels;
  EXPECT_EQ(Stating(any), "");
  EXPECT_THAT(set_.warnings, ElementsAre());
  plain_cell_.mutable_target()->set_name("other");
  EXPECT_EQ(Stating(any), "");
  EXPECT_THAT(
      set_.warnings,
      ElementsAre(HasSubstr("the same passes are taken for 2 targets")));
  set_.warnings.clear();
  cell_.mutable_target()->set_name("own");
  EXPECT_EQ(Stating("passes:\n  - {target: own, ms: {1: 10, 5: 12}}\n"
                    "  - {target: other, ms: {1: 20, 5: 22}}\n" +
                    levels),
            "");
  EXPECT_THAT(set_.warnings, ElementsAre());
  EXPECT_DOUBLE_EQ(set_.cells[1].pairs[0].stated->ms, 4 * 20);
  plain_cell_.mutable_target()->set_name("own");
  EXPECT_EQ(Stating("passes: [{target: far, ms: {1: 10, 5: 12}}]\n" + levels),
            "");
  EXPECT_THAT(set_.warnings, ElementsAre(HasSubstr("the passes of far ")));
}

// What a record calls its drafter comes before the drafter's kind.
TEST_F(StatedCostsTest, KnowADrafterByItsLabel) {
  cell_.mutable_trunks(0)->set_label("small-1");
  EXPECT_EQ(Stating("passes: [{ms: {1: 10, 5: 12}}]\n"
                    "levels: [{ms: {model: 1, small-1: 3, other: 0}}]\n"),
            "");
  EXPECT_DOUBLE_EQ(set_.cells[0].pairs[0].stated->ms, 12 + 2 * 3);
}

TEST_F(StatedCostsTest, AreRefusedAtTheirPlace) {
  const std::string levels = "levels: [{ms: {other: 1}}]\n";
  EXPECT_THAT(Refusal("passes: [{ms: {1: 1}}]\nlevel: 1\n"),
              HasSubstr("gpu.yaml:2:1: costs: unknown key 'level'; did you "
                        "mean 'levels'?"));
  for (const std::string& half :
       {std::string("passes: [{ms: {1: 1}}]\n"), levels})
    EXPECT_THAT(Refusal(half),
                HasSubstr("gpu.yaml:1:1: expected `passes` of a target and "
                          "`levels` of its drafters"));
  const auto pass = [&](const std::string& ms) {
    return Refusal(levels + "passes: [{ms: " + ms + "}]\n");
  };
  EXPECT_THAT(pass("{1: 2, 8: 0}"),
              HasSubstr("gpu.yaml:2:25: ms is 0 at 8 tokens"));
  EXPECT_THAT(pass("{1: 2, 8: nan}"),
              HasSubstr("gpu.yaml:2:25: expected a finite number"));
  EXPECT_THAT(pass("{0: 2, 8: 3}"),
              HasSubstr("gpu.yaml:2:19: ms has the key 0"));
  EXPECT_THAT(pass("{1: 2, 80: 3, 16: 2}"),
              HasSubstr("gpu.yaml:2:29: ms has the key 16 after 80"));
  EXPECT_THAT(pass("{}"), HasSubstr("ms has no entries"));
  EXPECT_THAT(pass("3"), HasSubstr("gpu.yaml:2:15: expected a map"));
  EXPECT_THAT(Refusal("passes: [{ms: {1: 1}}]\n"
                      "levels: [{ms: {model: -0.1}}]\n"),
              HasSubstr("gpu.yaml:2:23: expected milliseconds a level, from 0 "
                        "to 1e+09, found '-0.1'"));
  EXPECT_THAT(Refusal("passes: [{ms: {1: 1}}]\nlevels: [{ms: 1}]\n"),
              HasSubstr("gpu.yaml:2:15: expected a map from drafters"));
  EXPECT_FALSE(ReadStatedCosts(OwnFolder() + "/none.yaml").ok());
}

}  // namespace
}  // namespace banyan
