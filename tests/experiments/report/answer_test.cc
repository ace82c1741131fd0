// The answer that ends a run and begins its page.
#include "experiments/report/answer/answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "core/text/columns.h"
#include "experiments/metrics/sign_test.h"
#include "experiments/records/record.pb.h"
#include "experiments/records/record_set.h"
#include "experiments/report/answer/speed_verdict.h"
#include "nlohmann/json.hpp"
#include "tests/experiments/report/answer_sets.h"

namespace banyan {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

TEST_F(AnswerTest, SaysWhoIsFasterAndWhichTreesLoseToTheirChains) {
  const RecordSet set = SetOf(Trees(0, 0));
  const Answer answer = MakeAnswer(set);
  ASSERT_THAT(answer.targets, SizeIs(1));
  const TargetAnswer& target = answer.targets.front();
  ASSERT_THAT(target.rows, SizeIs(2));
  const AnswerEntry& tree = target.rows[0].at.at(0);
  EXPECT_EQ(tree.reference.other->cell->method(), "chain-8 strong");
  EXPECT_EQ(tree.reference.verdict, SpeedVerdict::kSlower);
  EXPECT_EQ(WorstChain(tree).verdict, SpeedVerdict::kFaster);
  const AnswerEntry& merged = target.rows[1].at.at(0);
  EXPECT_EQ(WorstChain(merged).verdict, SpeedVerdict::kSlower);
  EXPECT_EQ(WorstChain(merged).other->cell->method(), "chain-8 strong");
  EXPECT_EQ(target.fastest.at(0).name, "chain-8 strong");
  const std::string text = AnswerText(answer, "there");
  EXPECT_THAT(
      text,
      AllOf(HasSubstr("Is it?\n"),
            ContainsRegex("reference +2\\.[0-9]+ +1\\.00  chain-8 strong\n"),
            ContainsRegex("tree +[12]\\.[0-9]+ +1\\.00  slower "
                          "-0\\.[0-9]+ \\[-0\\.[0-9]+, -0\\.[0-9]+\\]"),
            ContainsRegex("tree +\\+0\\.[0-9]+ beats chain-8 weak"),
            ContainsRegex("merged +-0\\.[0-9]+ loses to chain-8 "
                          "strong"),
            HasSubstr("Fastest lossless method: at T = 0 chain-8 strong, "
                      "2."),
            HasSubstr("All numbers: there\n"), Not(HasSubstr("UNFINISHED"))));
}

constexpr auto kFastest = records::Opponent::FASTEST;
constexpr auto kNeighbour = records::Opponent::NEIGHBOUR;

// A predicted chain, its two neighbours, a tree and a chain of its own.
std::vector<MadeCell> Predicted(double less, double more) {
  const std::vector<records::Opponent> reference = {
      Held(1, kReference), Held(2, kNeighbour), Held(3, kNeighbour)};
  std::vector<records::Opponent> tree = reference;
  for (const records::Opponent& own :
       {Held(1, kFastest), Held(2, kNeighbour), Held(3, kNeighbour)})
    tree.push_back(own);
  return {{"plain", 0},           {"chain-4 a", 0, 2},
          {"chain-3 a", 0, less}, {"chain-5 a", 0, more},
          {"tree", 0, 2.5, tree}, {"line", 0, 2.2, reference}};
}

TEST_F(AnswerTest, HoldsTreesAgainstANeighbourThatBeatsThePrediction) {
  const RecordSet set = SetOf(Predicted(1.5, 3));
  const Answer answer = MakeAnswer(set);
  const TargetAnswer& target = answer.targets.front();
  const AnswerEntry& tree = target.rows[0].at.at(0);
  EXPECT_EQ(tree.reference.other->cell->method(), "chain-4 a");
  EXPECT_EQ(tree.reference.verdict, SpeedVerdict::kFaster);
  EXPECT_EQ(WorstChain(tree).other->cell->method(), "chain-5 a");
  EXPECT_EQ(WorstChain(tree).verdict, SpeedVerdict::kSlower);
  // Chains are not compared with other chains.
  EXPECT_THAT(target.rows[1].at.at(0).chains, SizeIs(0));
  EXPECT_THAT(
      absl::StrJoin(answer.notes, "\n"),
      ContainsRegex(
          "At T = 0 chain-5 a is faster than the predicted "
          "chain-4 a: its speedup is [01]\\.[0-9]+x higher\\. "
          "Trees are compared with it too: 0 of 1 trees are faster than "
          "chain-5 a, 1 is slower, 0 are open\\."));
}

TEST_F(AnswerTest, LeavesNeighboursThatDoNotBeatThePredictionAlone) {
  const RecordSet set = SetOf(Predicted(1.5, 2));
  const Answer answer = MakeAnswer(set);
  const AnswerEntry& tree = answer.targets.front().rows[0].at.at(0);
  EXPECT_THAT(tree.chains, SizeIs(1));
  EXPECT_THAT(tree.neighbours, SizeIs(0));
  EXPECT_THAT(absl::StrJoin(answer.notes, "\n"), Not(HasSubstr("predicted")));
}

TEST_F(AnswerTest, SaysNothingOfADifferenceWhoseIntervalHoldsZero) {
  std::vector<MadeCell> cells = Trees(0, 0);
  cells[3].speed = 2.5;
  const RecordSet set = SetOf(cells);
  const Answer answer = MakeAnswer(set);
  EXPECT_EQ(answer.targets.front().rows[0].at.at(0).reference.verdict,
            SpeedVerdict::kNoDifference);
  EXPECT_THAT(AnswerText(answer, ""), HasSubstr("no difference seen"));
}

TEST_F(AnswerTest, SetsTemperaturesSideBySideAndTargetsBelow) {
  std::vector<MadeCell> cells = Trees(0, 0);
  for (MadeCell& cell : Trees(1, 5)) cells.push_back(cell);
  cells.push_back({"plain", 0, 1, {}, "large"});
  cells.push_back({"tree", 0, 3, {Held(10, kReference)}, "large"});
  const RecordSet set = SetOf(cells);
  const Answer answer = MakeAnswer(set);
  ASSERT_THAT(answer.targets, SizeIs(2));
  EXPECT_EQ(answer.targets[0].name, "large");  // by bytes, not by order
  const std::string text = AnswerText(answer, "");
  EXPECT_THAT(text, AllOf(ContainsRegex("\nOn large at T = 0, .*\n"),
                          ContainsRegex("\nOn small at T = 1, .*\n"),
                          HasSubstr("large, 8 prompts."),
                          HasSubstr("On small the fastest: at T = 0 "
                                    "chain-8 strong"),
                          HasSubstr("; at T = 1 chain-8")));
  std::vector<MadeCell> both = Trees(0, 0);
  for (MadeCell& cell : Trees(1, 5)) both.push_back(cell);
  const RecordSet beside = SetOf(both);
  EXPECT_THAT(AnswerText(MakeAnswer(beside), ""),
              AllOf(ContainsRegex("T = 0 +T = 1\n"),
                    ContainsRegex("merged .*slower.*slower.*\n")));
}

TEST_F(AnswerTest, NamesAMethodsOwnAxisByItsLastWord) {
  const RecordSet set = SetOf({{"plain", 0, 1},
                               {"tree", 0, 2, {}, "small", true, "4"},
                               {"tree", 0, 3, {}, "small", true, "8"}});
  const std::string text = AnswerText(MakeAnswer(set), "");
  EXPECT_THAT(
      text, AllOf(HasSubstr("\ntree, nodes=8 "), HasSubstr("\ntree, nodes=4 "),
                  HasSubstr("T = 0 tree, nodes=8, ")));
}

TEST_F(AnswerTest, FitsFortyLinesOfAHundredColumns) {
  for (const int rivals : {1, 7, 12, 60}) {
    std::vector<MadeCell> cells;
    for (const double temperature : {0.0, 0.3, 0.7, 1.0}) {
      const auto first = static_cast<std::uint32_t>(cells.size());
      cells.push_back({"plain", temperature});
      cells.push_back(
          {"chain-8 of a drafter with a long name", temperature, 2});
      for (int i = 0; i < rivals; ++i)
        cells.push_back(
            {absl::StrCat("a method with a very long name ", i),
             temperature,
             1.2 + 0.1 * i,
             {Held(first + 1, kReference), Held(first + 1, kSameNodes)}});
    }
    const RecordSet set = SetOf(cells, 2);
    Answer answer = MakeAnswer(set);
    answer.question = std::string(90, 'x') + " " + std::string(500, 'y') +
                      " and more of it than anybody reads";
    answer.question.replace(100, 400, 80, 'z');
    const std::vector<std::string> lines = LinesOf(AnswerText(answer, "more"));
    EXPECT_LE(lines.size(), 40u) << rivals;
    EXPECT_GE(lines.size(), 8u) << rivals;
    for (const std::string& line : lines) EXPECT_LE(Columns(line), 100) << line;
  }
}

TEST_F(AnswerTest, WithoutOpponentsEverythingIsHeldAgainstPlainDecoding) {
  const RecordSet set =
      SetOf({{"plain"}, {"one", 0, 2}, {"lossy", 0, 4, {}, "small", false}});
  const Answer answer = MakeAnswer(set);
  EXPECT_THAT(answer.targets.front().rows, SizeIs(2));
  EXPECT_EQ(answer.targets.front().fastest.at(0).name, "one");
  EXPECT_THAT(AnswerText(answer, ""),
              AllOf(ContainsRegex("reference +1\\.00 +1\\.00  plain\n"),
                    ContainsRegex("one .*faster \\+"),
                    Not(HasSubstr("Beside chains"))));
}

TEST_F(AnswerTest, IsThereWhileTheRunIs) {
  const RecordSet set = SetOf(Trees(0, 0), 8, /*missing=*/6);
  EXPECT_THAT(AnswerText(MakeAnswer(set), ""),
              HasSubstr("UNFINISHED: 10 of 40 records so far."));
  const RecordSet none = SetOf(Trees(0, 0), 8, /*missing=*/8);
  EXPECT_THAT(AnswerText(MakeAnswer(none), ""),
              HasSubstr("small: no records yet."));
}

TEST_F(AnswerTest, IsTheSameOnThePage) {
  const RecordSet set = SetOf(Trees(0, 0));
  const auto json = nlohmann::json::parse(AnswerToJson(MakeAnswer(set)).Text());
  const auto& row = json.at("targets").at(0).at("rows").at(1);
  EXPECT_EQ(row.at("name"), "merged");
  const auto& entry = row.at("at").at(0);
  EXPECT_EQ(entry.at("reference").at("verdict"), "slower");
  EXPECT_EQ(entry.at("chain").at("method"), "chain-8 strong");
  EXPECT_EQ(json.at("records"), json.at("expected"));
}

TEST_F(AnswerTest, OpensWithASentenceThatAnswersTheQuestion) {
  std::vector<MadeCell> cells = Trees(0, 0);
  for (MadeCell& cell : Trees(1, 5)) cells.push_back(cell);
  cells.push_back({"even", 1, 2.5, {Held(6, kReference)}});
  const RecordSet set = SetOf(cells);
  const Answer answer = MakeAnswer(set);
  EXPECT_THAT(
      answer.targets.front().opening,
      testing::ElementsAre(
          "At T = 0, 0 of 2 trees are faster than chain-8 strong, 2 are "
          "slower, 0 are open.",
          "At T = 1, 0 of 3 trees are faster than chain-8 strong, 2 are "
          "slower, 1 is open."));
  const std::vector<std::string> lines = LinesOf(AnswerText(answer, ""));
  EXPECT_EQ(lines[1].rfind("At T = 0, 0 of 2 trees", 0), 0u) << lines[1];
}

TEST_F(AnswerTest, RowsOfAnAxisStandAfterTheirOwnReference) {
  const RecordSet set =
      SetOf({{"plain", 0, 1},
             {"chain", 0, 0.7, {}, "small", true, "4"},
             {"chain", 0, 0.2, {}, "small", true, "32"},
             {"tree", 0, 0.5, {Held(1, kReference)}, "small", true, "4"},
             {"tree", 0, 0.3, {Held(2, kReference)}, "small", true, "32"}});
  const Answer answer = MakeAnswer(set);
  const std::string text = AnswerText(answer, "");
  EXPECT_THAT(text, ContainsRegex("\nreference +0\\.7[0-9] .*chain, nodes=4\n"
                                  "tree, nodes=4 .*slower.*\n"
                                  "reference +0\\.2[0-9] .*chain, nodes=32\n"
                                  "tree, nodes=32 .*faster"));
  EXPECT_THAT(text, HasSubstr("faster than the reference beside it"));
}

TEST(SignTest, CountsPromptsExactly) {
  EXPECT_DOUBLE_EQ(SignTestP(0, 0), 1);
  EXPECT_DOUBLE_EQ(SignTestP(3, 3), 1);
  EXPECT_NEAR(SignTestP(5, 0), 2.0 / 32, 1e-12);
  EXPECT_NEAR(SignTestP(0, 5), 2.0 / 32, 1e-12);
  EXPECT_NEAR(SignTestP(7, 1), 2.0 * (1 + 8) / 256, 1e-12);
  EXPECT_NEAR(SignTestP(60, 40), 0.05688793364098, 1e-10);
}

TEST_F(AnswerTest, SignsAreThoseOfTimesATokenPromptByPrompt) {
  const RecordSet set = SetOf(Trees(0, 0));
  const SignTest signs = CompareSigns(set.cells[1].pairs, set.cells[2].pairs);
  EXPECT_EQ(signs.faster, 8);
  EXPECT_EQ(signs.slower, 0);
  EXPECT_NEAR(signs.p, 2.0 / 256, 1e-12);
  EXPECT_EQ(CompareSigns(set.cells[1].pairs, set.cells[1].pairs).p, 1);
}

}  // namespace
}  // namespace banyan
