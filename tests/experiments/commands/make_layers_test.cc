// banyan make layers, on the target that ships.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "core/base/common.h"
#include "tests/core/checkpoint/files.h"
#include "tests/experiments/run_program.h"

namespace banyan {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// Tests run in the project's root.
class MakeLayers : public testing::Test {
 protected:
  Outcome Search(const std::string& method, const std::string& more = "") {
    return RunProgram(
        absl::StrCat("make layers --model models/pycode-target --prompts 2 "
                     "--max-new-tokens 8 "
                     "--workload experiments/workloads/pycode.jsonl --method ",
                     method, " --out ", out(), " ", more));
  }
  std::string out() const { return folder_.path() + "/best.yaml"; }
  std::string path() const { return out() + ".path.csv"; }

  static std::string Read(const std::string& file) {
    std::ifstream in(file);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
  }
  // What was rated, a line each.
  std::vector<std::string> Lines() const {
    std::vector<std::string> lines =
        absl::StrSplit(Read(path()), '\n', absl::SkipEmpty());
    if (lines.size() < 2) return {};
    return {lines.begin() + 2, lines.end()};
  }

  const TestFolder folder_;
};

std::string CandidateOf(const std::string& line) {
  return line.substr(0, line.find(','));
}

double SpeedOf(const std::string& line) {
  const std::vector<std::string> fields = absl::StrSplit(line, ',');
  double speed = 0;
  EXPECT_EQ(fields.size(), 6U) << line;
  EXPECT_TRUE(absl::SimpleAtod(fields[4], &speed)) << line;
  return speed;
}

constexpr char kExit[] = "configs/methods/early_exit.yaml";
constexpr char kSkip[] = "configs/methods/skip.yaml";

TEST_F(MakeLayers, RatesEveryExitAndWritesTheFastest) {
  const Outcome outcome = Search(kExit, "--temperature 0");
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  std::set<std::string> exits;
  std::string best;
  for (const std::string& line : Lines()) {
    exits.insert(CandidateOf(line));
    if (best.empty() || SpeedOf(line) > SpeedOf(best)) best = line;
  }
  EXPECT_EQ(exits, (std::set<std::string>{"exit 1", "exit 2", "exit 3"}));
  EXPECT_EQ(Lines().size(), 3U);
  EXPECT_THAT(best, testing::EndsWith(",1"));
  EXPECT_THAT(outcome.out, HasSubstr(CandidateOf(best) + ": "));
  EXPECT_THAT(Read(out()),
              HasSubstr(absl::StrCat("exits: [", best.substr(5, 1), "]")));
  const Outcome used = RunProgram(
      absl::StrCat("generate --model models/pycode-target --prompt 'def f' "
                   "--max-new-tokens 4 --method ",
                   out()));
  EXPECT_EQ(used.code, 0) << used.output;
}

TEST_F(MakeLayers, GoesOnWhereItWasStopped) {
  ASSERT_EQ(Search(kSkip, "--steps 7").code, 0);
  const std::vector<std::string> whole = Lines();
  ASSERT_EQ(whole.size(), 7U);
  const std::string text = Read(path());
  // Killed while the fifth line was written.
  const std::size_t end = text.find(whole[4]) + 9;
  std::ofstream(path(), std::ios::trunc) << text.substr(0, end);
  // What was rated stands until the file without the torn line is whole.
  const std::string in_the_way = path() + ".partial";
  std::filesystem::create_directory(in_the_way);
  const Outcome refused = Search(kSkip, "--steps 7");
  EXPECT_NE(refused.code, 0);
  EXPECT_THAT(refused.err,
              HasSubstr(in_the_way + ": expected an ordinary file"));
  EXPECT_EQ(Read(path()), text.substr(0, end));
  std::filesystem::remove(in_the_way);
  const Outcome outcome = Search(kSkip, "--steps 7");
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_THAT(outcome.err, HasSubstr("going on after 4 steps"));
  const std::vector<std::string> again = Lines();
  ASSERT_EQ(again.size(), 7U);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(again[i], whole[i]);
  EXPECT_EQ(CandidateOf(again[4]), CandidateOf(whole[4]));
  // Nothing is rated twice.
  std::set<std::string> candidates;
  for (const std::string& line : again) candidates.insert(CandidateOf(line));
  EXPECT_EQ(candidates.size(), 7U);
  // With every step known it rates nothing.
  const std::string before = Read(path());
  ASSERT_EQ(Search(kSkip, "--steps 7").code, 0);
  EXPECT_EQ(Read(path()), before);
}

TEST_F(MakeLayers, BeginsWhereItsSeedSays) {
  std::set<std::string> starts;
  for (const char* seed : {"1", "2", "3", "4"}) {
    std::filesystem::remove(path());
    ASSERT_EQ(Search(kSkip, absl::StrCat("--steps 1 --seed ", seed)).code, 0);
    ASSERT_EQ(Lines().size(), 1U);
    starts.insert(CandidateOf(Lines().front()));
  }
  EXPECT_GE(starts.size(), 3U);
}

TEST_F(MakeLayers, RefusesThePathOfAnotherSearch) {
  ASSERT_EQ(Search(kExit).code, 0);
  const std::string before = Read(path());
  for (const std::string& other :
       {std::string("--seed 5"), std::string("--temperature 0"),
        std::string("--chat raw")}) {
    const Outcome outcome = Search(kExit, other);
    EXPECT_NE(outcome.code, 0);
    EXPECT_THAT(outcome.err, HasSubstr(path() + ":1: "));
    EXPECT_THAT(outcome.err, HasSubstr("another search"));
    EXPECT_EQ(Read(path()), before);
  }
  std::ofstream(path(), std::ios::app) << "exit 9,1,1,1,1,0\n";
  const Outcome torn = Search(kExit);
  EXPECT_NE(torn.code, 0);
  EXPECT_THAT(torn.err, HasSubstr(path() + ":6: 'exit 9' is no candidate"));
}

TEST_F(MakeLayers, SaysWhatItCannotSearch) {
  const Outcome chain = Search("configs/methods/chain.yaml");
  EXPECT_NE(chain.code, 0);
  EXPECT_THAT(chain.err, HasSubstr("configs/methods/chain.yaml:"));
  EXPECT_THAT(chain.err, HasSubstr("early_exit or skip"));
  const Outcome nowhere = Search(kExit, "--path /nowhere/path.csv");
  EXPECT_NE(nowhere.code, 0);
  EXPECT_THAT(nowhere.err, HasSubstr("/nowhere/path.csv: No such file"));
}

}  // namespace
}  // namespace banyan
