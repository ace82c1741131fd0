// The answer that ends a run and begins its page.
#include "experiments/report/answer/answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/base/common.h"
#include "core/terminal/columns.h"
#include "experiments/metrics/estimate.h"
#include "experiments/metrics/metric.h"
#include "experiments/records/record.pb.h"
#include "experiments/records/record_set.h"
#include "experiments/report/answer/verdict.h"
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
  EXPECT_EQ(tree.reference->other.cell->cell->method(), "chain-8 strong");
  EXPECT_EQ(tree.reference->speed.verdict, Judgement::kLess);
  EXPECT_EQ(WorstChain(tree).speed.verdict, Judgement::kMore);
  const AnswerEntry& merged = target.rows[1].at.at(0);
  EXPECT_EQ(WorstChain(merged).speed.verdict, Judgement::kLess);
  EXPECT_EQ(WorstChain(merged).other.cell->cell->method(), "chain-8 strong");
  EXPECT_EQ(target.at.at(0).fastest->name, "chain-8 strong");
  const Score& score = target.at.at(0).speed;
  EXPECT_EQ(score.all, 2);
  EXPECT_EQ(score.more, 1);
  EXPECT_EQ(score.less, 1);
  const std::string text = AnswerText(answer, "there");
  EXPECT_THAT(
      text,
      AllOf(
          HasSubstr("Is it?\n"),
          HasSubstr("At T = 0: yes, 1 of 2 trees is faster than the chains of "
                    "its own drafters (tree); 1 is slower (8\nprompts, this "
                    "machine)."),
          ContainsRegex("reference chain-8 +2\\.[0-9]+ \\[.*\\] +4\\.00"),
          ContainsRegex("tree +[12]\\.[0-9]+ .* 4\\.00 .* slower +"
                        "-0\\.[0-9]+ \\[-0\\.[0-9]+, -0\\.[0-9]+\\]"),
          ContainsRegex("tree +chain-8 weak .* faster +\\+0\\.[0-9]+ "),
          ContainsRegex("merged +chain-8 strong .* slower +-0\\.[0-9]+ "),
          HasSubstr("Fastest lossless method: at T = 0 chain-8 strong, 2."),
          HasSubstr("All numbers: there\n"), Not(HasSubstr("UNFINISHED"))));
}

// The highest is one of chance, the next is not; then neither is left.
TEST_F(AnswerTest, CrownsNobodyByChance) {
  std::vector<MadeCell> cells = {
      {"plain"}, {"wild", 0, 4}, {"sure", 0, 1.5}, {"slow", 0, 0.5}};
  cells[1].noise = 1.5;
  const auto crowned = [&] {
    const RecordSet set = SetOf(cells);
    const Answer answer = MakeAnswer(set);
    return FastestSentence(answer.targets.front(), /*largest=*/true);
  };
  EXPECT_THAT(crowned(), HasSubstr("at T = 0 sure, 1."));
  cells[2].speed = 0.8;
  EXPECT_THAT(crowned(),
              HasSubstr("at T = 0 none is shown to be faster than plain "
                        "decoding (the highest is wild, "));
  cells[1].speed = 0.1;
  EXPECT_THAT(crowned(),
              HasSubstr("at T = 0 none was measured above plain decoding"));
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
  EXPECT_EQ(tree.reference->other.cell->cell->method(), "chain-4 a");
  EXPECT_EQ(tree.reference->speed.verdict, Judgement::kMore);
  EXPECT_EQ(WorstChain(tree).other.cell->cell->method(), "chain-5 a");
  EXPECT_EQ(WorstChain(tree).speed.verdict, Judgement::kLess);
  // Chains are not compared with other chains.
  EXPECT_THAT(target.rows[1].at.at(0).chains, SizeIs(0));
  EXPECT_THAT(absl::StrJoin(target.opening, "\n"),
              ContainsRegex("The reference was not the fastest chain: "
                            "chain-5 a [23]\\.[0-9]+x .* was faster\\."));
}

TEST_F(AnswerTest, LeavesNeighboursThatDoNotBeatThePredictionAlone) {
  const RecordSet set = SetOf(Predicted(1.5, 2));
  const Answer answer = MakeAnswer(set);
  const TargetAnswer& target = answer.targets.front();
  EXPECT_THAT(target.rows[0].at.at(0).chains, SizeIs(1));
  EXPECT_THAT(target.at.at(0).faster_chains, SizeIs(0));
  EXPECT_THAT(absl::StrJoin(target.opening, "\n"),
              Not(HasSubstr("the fastest chain")));
}

TEST_F(AnswerTest, SaysWhatWouldDecideADifferenceWhoseIntervalHoldsZero) {
  std::vector<MadeCell> cells = Trees(0, 0);
  cells[3].speed = 2.5;
  const RecordSet set = SetOf(cells);
  const Answer answer = MakeAnswer(set);
  const Difference& difference =
      answer.targets.front().rows[0].at.at(0).reference->speed;
  EXPECT_EQ(difference.verdict, Judgement::kUndecided);
  // Less than its error: nothing tells how many prompts would decide.
  EXPECT_FALSE(difference.prompts_wanted.has_value());
  EXPECT_THAT(AnswerText(answer, ""),
              ContainsRegex("tree +2\\..* undecided +[-+]0\\.[0-9]+ "
                            "\\[-0\\.[0-9]+, \\+0\\.[0-9]+\\] +\\?\n"));
}

TEST_F(AnswerTest, NeedsSixPromptsForAVerdict) {
  for (const auto& [prompts, expected] :
       {std::pair(5, Judgement::kUndecided), std::pair(6, Judgement::kLess)}) {
    const RecordSet set = SetOf(Trees(0, 0), prompts);
    const Answer answer = MakeAnswer(set);
    EXPECT_EQ(answer.targets.front().rows[0].at.at(0).reference->speed.verdict,
              expected);
    EXPECT_EQ(absl::StrContains(answer.targets.front().opening.front(),
                                "a verdict needs at least 6"),
              prompts < 6);
  }
}

// A run that asks for one thing twice says so in at most one of twenty.
TEST_F(AnswerTest, TellsOneChainFromItselfInFewRuns) {
  for (const int prompts : {2, 4, 8, 16}) {
    int verdicts = 0;
    for (std::uint64_t run = 0; run < 40; ++run) {
      std::vector<MadeCell> cells = {
          {"plain"}, {"chain", 0, 2}, {"again", 0, 2, {Held(1, kReference)}}};
      for (MadeCell& cell : cells) cell.noise = 0.1;
      const RecordSet set = SetOf(cells, prompts, 0, 100 * run + 7);
      const Answer answer = MakeAnswer(set);
      const AnswerEntry& again = answer.targets.front().rows[0].at.at(0);
      verdicts +=
          again.reference->speed.verdict == Judgement::kUndecided ? 0 : 1;
    }
    EXPECT_LE(verdicts, 2) << prompts << " prompts";
  }
}

// What an answer promises would decide it does so in most runs.
TEST_F(AnswerTest, FindsASlowerMethodAtThePromptsThatItPromises) {
  for (const double slower : {1.05, 1.2}) {
    const auto entry_of = [&](int prompts, std::uint64_t run) {
      std::vector<MadeCell> cells = {
          {"plain"},
          {"chain", 0, 2},
          {"slow", 0, 2 / slower, {Held(1, kReference)}}};
      for (MadeCell& cell : cells) cell.noise = 0.1;
      const RecordSet set = SetOf(cells, prompts, 0, run);
      const Answer answer = MakeAnswer(set);
      return answer.targets.front().rows[0].at.at(0).reference->speed;
    };
    // Of the promises at 8 prompts the middle one; a single one is as noisy as
    // what it is made of.
    std::vector<double> promised;
    for (std::uint64_t run = 0; run < 21; ++run)
      if (const auto wanted = entry_of(8, run).prompts_wanted)
        promised.push_back(*wanted);
    ASSERT_FALSE(promised.empty());
    const auto middle =
        promised.begin() + static_cast<long>(promised.size() / 2);
    std::nth_element(promised.begin(), middle, promised.end());
    const int wanted = static_cast<int>(*middle);
    EXPECT_LE(wanted, slower > 1.1 ? 40 : 400);
    int found = 0;
    for (std::uint64_t run = 100; run < 110; ++run)
      found += entry_of(wanted, run).verdict == Judgement::kLess ? 1 : 0;
    EXPECT_GE(found, 6) << slower << " at " << wanted << " prompts";
  }
}

TEST_F(AnswerTest, SetsTemperaturesAndTargetsBelowEachOther) {
  std::vector<MadeCell> cells = Trees(0, 0);
  for (MadeCell& cell : Trees(1, 5)) cells.push_back(cell);
  cells.push_back({"plain", 0, 1, {}, "large"});
  cells.push_back({"tree", 0, 3, {Held(10, kReference)}, "large"});
  const RecordSet set = SetOf(cells);
  const Answer answer = MakeAnswer(set);
  ASSERT_THAT(answer.targets, SizeIs(2));
  EXPECT_EQ(answer.targets[0].name, "large");  // by bytes, not by order
  const std::string text = AnswerText(answer, "");
  EXPECT_THAT(text, AllOf(ContainsRegex("\nOn large at T = 0: .*\n"),
                          ContainsRegex("\nOn small at T = 1: .*\n"),
                          ContainsRegex("\nlarge, T = 0:\nmethod +speedup"),
                          HasSubstr("On small the fastest: at T = 0 "
                                    "chain-8 strong"),
                          HasSubstr("at T = 1 chain-8")));
  std::vector<MadeCell> both = Trees(0, 0);
  for (MadeCell& cell : Trees(1, 5)) both.push_back(cell);
  const RecordSet beside = SetOf(both);
  EXPECT_THAT(AnswerText(MakeAnswer(beside), ""),
              AllOf(ContainsRegex("small, T = 0:\nmethod +speedup"),
                    ContainsRegex("small, T = 1:\nmethod +speedup")));
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

TEST_F(AnswerTest, TakesAHundredColumnsAndCutsNothing) {
  for (const int rivals : {1, 7, 60}) {
    std::vector<MadeCell> cells;
    for (const double temperature : {0.0, 0.3, 0.7, 1.0}) {
      const auto first = static_cast<std::uint32_t>(cells.size());
      cells.push_back({"plain", temperature});
      cells.push_back(
          {"chain-8 of a drafter with a long name", temperature, 2});
      for (int i = 0; i < rivals; ++i)
        cells.push_back(
            {absl::StrCat("a method with a very long name, number=", i),
             temperature,
             1.2 + 0.1 * i,
             {Held(first + 1, kReference), Held(first + 1, kSameNodes)}});
    }
    const RecordSet set = SetOf(cells, 2);
    Answer answer = MakeAnswer(set);
    answer.question =
        std::string(90, 'x') + " and more of it than anybody reads";
    const std::string text = AnswerText(answer, "more");
    for (const std::string& line : LinesOf(text))
      EXPECT_LE(Columns(line), 100) << line;
    for (int i = 0; i < rivals; ++i)
      EXPECT_THAT(text, ContainsRegex(absl::StrCat("number=", i, "( |\n)")));
    EXPECT_THAT(text, Not(HasSubstr("..")));
  }
}

TEST_F(AnswerTest, WithoutOpponentsEverythingIsHeldAgainstPlainDecoding) {
  const RecordSet set =
      SetOf({{"plain"}, {"one", 0, 2}, {"lossy", 0, 4, {}, "small", false}});
  const Answer answer = MakeAnswer(set);
  EXPECT_THAT(answer.targets.front().rows, SizeIs(2));
  EXPECT_EQ(answer.targets.front().at.at(0).fastest->name, "one");
  EXPECT_THAT(
      AnswerText(answer, ""),
      AllOf(ContainsRegex("reference plain +1\\.00 \\[1.00, 1.00\\] +1\\.00"),
            ContainsRegex("one .*faster +\\+"),
            HasSubstr("faster than plain decoding"),
            Not(HasSubstr("hardest chain"))));
}

// The words yes and no only where they answer.
TEST_F(AnswerTest, SaysYesOrNoOnlyIfAsked) {
  for (const auto& [question, asked] :
       {std::pair("Which is fastest?", false), std::pair("Does it pay?", true),
        std::pair("Chains and trees", false), std::pair("are they?", true)}) {
    question_ = question;
    const RecordSet set = SetOf(Trees(0, 0));
    EXPECT_EQ(absl::StrContains(AnswerText(MakeAnswer(set), ""), "yes, "),
              asked)
        << question;
  }
}

TEST_F(AnswerTest, WithdrawsSpeedsIfPlainDecodingDiffersFromItself) {
  for (const auto& [again, differs] :
       {std::pair(1.0, false), std::pair(0.9, true)}) {
    std::vector<MadeCell> cells = Trees(0, 0);
    cells.push_back({kPlainAgain, 0, again});
    const RecordSet set = SetOf(cells);
    ASSERT_THAT(set.repeats, SizeIs(1));
    EXPECT_THAT(set.cells, SizeIs(5));
    const Answer answer = MakeAnswer(set);
    EXPECT_EQ(answer.records, 40u);
    EXPECT_EQ(answer.expected, 40u);
    const TemperatureAnswer& at = answer.targets.front().at.at(0);
    EXPECT_EQ(at.noise.differs, differs);
    EXPECT_EQ(at.fastest.has_value(), !differs);
    const std::string text = AnswerText(answer, "");
    EXPECT_EQ(absl::StrContains(text, "speeds are withdrawn"), differs);
    EXPECT_EQ(absl::StrContains(text, "Fastest lossless method"), !differs);
    EXPECT_THAT(
        text, AllOf(HasSubstr("Tokens per pass are the same on every machine"),
                    Not(HasSubstr("Noise not measured")),
                    Not(HasSubstr(kPlainAgain))));
  }
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
  EXPECT_EQ(entry.at("reference").at("difference").at("verdict"), "slower");
  EXPECT_EQ(entry.at("chain").at("method"), "chain-8 strong");
  EXPECT_EQ(json.at("records"), json.at("expected"));
}

TEST_F(AnswerTest, OpensWithASentenceThatAnswersTheQuestion) {
  std::vector<MadeCell> cells = Trees(0, 0);
  for (MadeCell& cell : Trees(1, 5)) cells.push_back(cell);
  cells[9].speed = 2.2;
  cells[8].speed = 1.1;
  const RecordSet set = SetOf(cells);
  const Answer answer = MakeAnswer(set);
  const std::vector<std::string>& opening = answer.targets.front().opening;
  ASSERT_THAT(opening, SizeIs(4));
  EXPECT_EQ(opening[0],
            "At T = 0: yes, 1 of 2 trees is faster than the chains of its own "
            "drafters (tree); 1 is slower (8 prompts, this machine).");
  EXPECT_EQ(
      opening[2],
      "At T = 1: no, none of 2 trees is faster than the chains of its own "
      "drafters; 2 are slower (8 prompts, this machine).");
  for (const int travels : {1, 3})
    EXPECT_THAT(opening[travels],
                AllOf(HasSubstr("Tokens per pass are the same on every "
                                "machine: there both trees are undecided "
                                "beside a chain of as many nodes of their own "
                                "drafters."),
                      HasSubstr("ship with the program")));
  const std::vector<std::string> lines = LinesOf(AnswerText(answer, ""));
  EXPECT_EQ(lines[1].rfind("At T = 0: yes, 1 of 2 trees", 0), 0u) << lines[1];
}

TEST_F(AnswerTest, SaysOnTopAndOnceThatTheMachineWasLoaded) {
  RecordSet set = SetOf(Trees(0, 0));
  set.loaded = "the machine was loaded";
  const std::string text = AnswerText(MakeAnswer(set), "");
  EXPECT_EQ(text.rfind("the machine was loaded\n", 0), 0u);
  EXPECT_EQ(text.find("loaded", 20), std::string::npos);
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
  EXPECT_THAT(text, ContainsRegex("\nreference chain, +0\\.7[0-9] .*\nnodes=4\n"
                                  "tree, nodes=4 .*slower.*\n"));
  EXPECT_THAT(text,
              ContainsRegex("\nreference chain, +0\\.2[0-9] .*\nnodes=32\n"
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

TEST(SignTest, ComparesPartsPromptByPrompt) {
  const std::vector<Part> a = {{1, 1}, {2, 1}, {3, 1}, {0, 0}};
  const std::vector<Part> b = {{2, 1}, {1, 1}, {3, 1}, {1, 1}};
  const SignTest signs = CompareSigns(Form::kRatio, a, b);
  EXPECT_EQ(signs.more, 1);
  EXPECT_EQ(signs.less, 1);
  EXPECT_EQ(signs.p, 1);
}

// Each of the three that a verdict needs is missing once.
TEST(Verdicts, NeedPromptsTheCorrectedTestAndTheSigns) {
  const auto made = [](double p, int prompts, int more, int less) {
    return Difference{
        .estimate = Estimate{.value = 1,
                             .interval = Interval{0.5, 1.5},
                             .prompts = prompts,
                             .p = p},
        .signs = {.more = more, .less = less, .p = SignTestP(more, less)}};
  };
  Difference good = made(0.001, 8, 8, 0);
  Difference few = made(0.001, 5, 5, 0);
  Difference many = made(0.04, 8, 8, 0);  // not of several
  Difference uneven = made(0.001, 8, 5, 3);
  Difference against = made(0.001, 8, 0, 8);
  Difference larger = made(0.5, 8, 5, 3);
  Difference none;
  std::vector<Difference*> family = {&good,    &few,    &many, &uneven,
                                     &against, &larger, &none};
  Decide(family);
  EXPECT_EQ(good.verdict, Judgement::kMore);
  for (const Difference* other :
       {&few, &many, &uneven, &against, &larger, &none})
    EXPECT_EQ(other->verdict, Judgement::kUndecided);
  Difference alone = made(0.04, 8, 8, 0);
  const std::vector<Difference*> one = {&alone};
  Decide(one);
  EXPECT_EQ(alone.verdict, Judgement::kMore);
}

}  // namespace
}  // namespace banyan
