// What the answer says below its table.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/base/common.h"
#include "experiments/records/record.pb.h"
#include "experiments/records/record_set.h"
#include "experiments/report/answer/answer.h"
#include "nlohmann/json.hpp"
#include "tests/experiments/report/answer_sets.h"

namespace banyan {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class AnswerNotesTest : public AnswerTest {};

TEST_F(AnswerNotesTest, SaysWhichTreesAreChainsOfOneToken) {
  std::vector<MadeCell> cells = Trees(0, 0);
  EXPECT_THAT(AnswerText(MakeAnswer(SetOf(cells)), "there"),
              Not(HasSubstr("one node")));
  cells[3].level_ms = 0.1;
  EXPECT_THAT(AnswerText(MakeAnswer(SetOf(cells)), "there"),
              HasSubstr("At T = 0 trees of one node, which are chains of "
                        "one token: tree.\n"));
}

TEST_F(AnswerNotesTest, ARefutedClaimStandsOnTopAndLosesTheWord) {
  std::vector<MadeCell> cells = {{"plain"}, {"honest", 0, 1.2}, {"liar", 0, 3}};
  cells[2].differs = 4;
  const RecordSet set = SetOf(cells);
  const Answer answer = MakeAnswer(set);
  EXPECT_EQ(answer.targets.front().at.at(0).fastest->name, "honest");
  const std::vector<std::string> lines = LinesOf(AnswerText(answer, ""));
  EXPECT_EQ(lines[1].rfind("NOT LOSSLESS: liar 0 small claims to be, but 1 of "
                           "its 8 texts at temperature 0",
                           0),
            0u);
  const auto json = nlohmann::json::parse(AnswerToJson(answer).Text());
  EXPECT_EQ(json.at("refuted").size(), 1u);
}

TEST_F(AnswerNotesTest, SaysWhatLosslessRestsOn) {
  std::vector<MadeCell> cells = {
      {"plain"}, {"one", 0, 2}, {"plain", 1}, {"two", 1, 2}, {"three", 1, 1.5}};
  cells[3].evidence = records::PROVEN;
  cells[4].evidence = records::CLAIMED;
  RecordSet set = SetOf(cells);
  const Answer answer = MakeAnswer(set);
  EXPECT_THAT(
      answer.notes,
      testing::Contains(
          "Lossless: at T = 0, 8 texts equal plain decoding's; above T = "
          "0, 1 method is proven by enumeration; "
          "above T = 0, three is claimed to be, not proven in this "
          "build."));
  EXPECT_THAT(FastestSentence(answer.targets.front(), true),
              testing::ContainsRegex("at T = 1 two, 1\\.98x .*"
                                     "\\(proven by enumeration\\)"));
}

// Under --fast texts may differ without refuting a claim.
TEST_F(AnswerNotesTest, CountsOnlyTextsThatAreEqual) {
  std::vector<MadeCell> cells = {{"plain"}, {"one", 0, 2}};
  cells[1].differs = 4;
  fast_ = true;
  const RecordSet set = SetOf(cells);
  EXPECT_THAT(AnswerText(MakeAnswer(set), ""),
              HasSubstr("at T = 0, 7 texts equal plain decoding's"));
}

// Both draw the same, at any temperature.
TEST_F(AnswerNotesTest, WarnsWherePlainDecodingIsNotRepeatable) {
  for (const double temperature : {0.0, 1.0}) {
    std::vector<MadeCell> cells = {{"plain", temperature},
                                   {"one", temperature, 2},
                                   {kPlainAgain, temperature}};
    EXPECT_THAT(SetOf(cells).warnings, testing::IsEmpty());
    cells[2].differs = 4;
    EXPECT_THAT(SetOf(cells).warnings,
                testing::ElementsAre(HasSubstr("a second run gave 1 of 8 texts "
                                               "otherwise")));
    fast_ = true;
    EXPECT_THAT(SetOf(cells).warnings,
                testing::Not(testing::Contains(HasSubstr("a second run"))));
    fast_ = false;
  }
}

// Whatever else there is to tell.
TEST_F(AnswerNotesTest, SaysWhatItRestsOnBeforeItWarns) {
  reference_choice_ = "the fastest chain";
  RecordSet set = SetOf({{"plain"}, {"one", 0, 2}});
  for (int i = 0; i < 12; ++i)
    set.warnings.push_back(absl::StrCat("warning ", i));
  EXPECT_THAT(AnswerText(MakeAnswer(set), ""),
              AllOf(HasSubstr("Lossless: at T = 0, 8 texts"),
                    HasSubstr("The reference is the fastest chain."),
                    HasSubstr("Speedups and verdicts are those of"),
                    HasSubstr("warning 0\n"), HasSubstr("warning 11\n")));
}

TEST_F(AnswerNotesTest, SaysWhereNothingCanWin) {
  std::vector<MadeCell> cells = {{"plain"}, {"one", 0, 0.4}, {"two", 0, 0.3}};
  cells[1].level_ms = 1.5;
  cells[2].level_ms = 2.5;
  const auto notes = [&] {
    const RecordSet set = SetOf(cells);
    return absl::StrJoin(MakeAnswer(set).notes, "\n");
  };
  EXPECT_THAT(notes(), HasSubstr("On small no method can be faster"));
  cells[2].level_ms = 0.1;
  EXPECT_THAT(notes(), HasSubstr("On small one cannot be faster"));
  cells[1].level_ms = 0.1;
  EXPECT_THAT(notes(), Not(HasSubstr("cannot be faster")));
  // A level that costs too much on one target may pay on another.
  cells.push_back({"plain", 0, 1, {}, "large"});
  cells.push_back({"one", 0, 0.4, {}, "large"});
  cells[4].level_ms = 1.5;
  EXPECT_THAT(notes(), AllOf(HasSubstr("On large no method can be faster"),
                             Not(HasSubstr("On small"))));
}

// Nor is it crowned, whoever it is.
TEST_F(AnswerNotesTest, FlagsASpeedupThatTokensPerPassCannotExplain) {
  std::vector<MadeCell> cells = {{"plain"},
                                 {"lucky chain", 0, 1.6},
                                 {"lucky", 0, 1.4, {Held(1, kReference)}},
                                 {"fair", 0, 1.02, {Held(1, kReference)}}};
  for (MadeCell& cell : cells) cell.per_pass = 1;
  const Answer answer = MakeAnswer(SetOf(cells));
  const TargetAnswer& target = answer.targets.front();
  EXPECT_TRUE(target.rows[0].at.at(0).own.unexplained);
  EXPECT_FALSE(target.rows[1].at.at(0).own.unexplained);
  EXPECT_TRUE(target.rows[1].at.at(0).reference->other.unexplained);
  EXPECT_EQ(target.at.at(0).fastest->name, "fair");
  EXPECT_THAT(
      absl::StrJoin(answer.notes, "\n"),
      AllOf(HasSubstr("lucky at T = 0 (1.4"),
            HasSubstr("lucky chain at T = 0 (1.6"), Not(HasSubstr("fair"))));
}

// A machine whose times differ by more explains more.
TEST_F(AnswerNotesTest, TakesTheNoiseOfPlainDecodingForWhatMayBe) {
  std::vector<MadeCell> cells = {{"plain"}, {"one", 0, 1.2}, {kPlainAgain}};
  for (MadeCell& cell : cells) cell.per_pass = 1;
  for (const double noise : {0.0, 0.4}) {
    cells[2].noise = noise;
    const Answer answer = MakeAnswer(SetOf(cells));
    EXPECT_EQ(answer.targets.front().rows[0].at.at(0).own.unexplained,
              noise == 0);
    EXPECT_THAT(absl::StrJoin(answer.notes, "\n"),
                HasSubstr("Noise: plain decoding a second time was "));
  }
}

TEST_F(AnswerNotesTest, SaysWhichNumbersTravel) {
  RecordSet set = SetOf({{"plain"}, {"one", 0, 1}});
  records::Machine& machine = *set.files.front().context.mutable_machine();
  machine.set_cpu("Some CPU");
  machine.set_threads(2);
  const auto notes = [&] { return absl::StrJoin(MakeAnswer(set).notes, "\n"); };
  machine.set_instruction_set("AVX2");
  EXPECT_THAT(notes(), HasSubstr("Speedups and verdicts are those of Some CPU, "
                                 "AVX2, 2 threads."));
  machine.clear_instruction_set();
  EXPECT_THAT(notes(), HasSubstr("those of Some CPU, 2 threads."));
}

}  // namespace
}  // namespace banyan
