// What a run shows while it goes on: a line each tenth, or a table in place.
#include "experiments/run/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/base/common.h"
#include "experiments/records/record.pb.h"

namespace banyan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

constexpr double kNsPerMs = 1e6;

class SetClock : public Clock {
 public:
  std::int64_t NowNs() const override { return seconds * 1'000'000'000; }
  std::int64_t seconds = 100;
};

// Plain decoding, a method in two cells and one in a cell of its own.
records::Context ThreeMethods() {
  records::Context context;
  for (const char* method : {"plain", "chain", "chain", "tree"}) {
    records::Cell& cell = *context.add_cells();
    cell.set_name(absl::StrCat(method, " ", context.cells_size()));
    cell.set_method(method);
    cell.set_baseline(0);
  }
  return context;
}

struct Work {
  std::uint32_t cell = 0;
  std::uint32_t prompt = 0;
  double ms = 1;
  int tokens = 1;
  int rounds = 1;
};

records::PromptRecord Record(const Work& work) {
  records::PromptRecord record;
  record.set_cell(work.cell);
  record.set_prompt(work.prompt);
  for (int i = 0; i < work.tokens; ++i) record.add_tokens(0);
  for (int i = 0; i < work.rounds; ++i)
    record.add_rounds()->set_target_ns(
        static_cast<std::int64_t>(work.ms * kNsPerMs / work.rounds));
  return record;
}

class RunProgressTest : public testing::Test {
 protected:
  RunProgress Make(bool terminal) {
    return {context_, {.out = out_, .clock = clock_, .terminal = terminal}};
  }
  // What was shown since the last call.
  std::string Shown() {
    const std::string text = out_.str();
    out_.str("");
    return text;
  }

  const records::Context context_ = ThreeMethods();
  std::ostringstream out_;
  SetClock clock_;
};

TEST_F(RunProgressTest, ShowsALineEachTenth) {
  RunProgress progress = Make(/*terminal=*/false);
  std::vector<int> shown;
  for (int done = 1; done <= 20; ++done) {
    progress.Show(done, 20);
    if (!Shown().empty()) shown.push_back(done);
  }
  EXPECT_THAT(shown, ElementsAre(2, 4, 6, 8, 10, 12, 14, 16, 18, 20));
  RunProgress nothing = Make(/*terminal=*/false);
  nothing.Show(0, 0);
  EXPECT_EQ(Shown(), absl::StrCat("[", std::string(30, '#'),
                                  "] 0 of 0, 0 s, 0 s left\n"));
}

// By the records of this run: those it found took no time of its own.
TEST_F(RunProgressTest, SaysHowLongTheRestTakes) {
  RunProgress progress = Make(/*terminal=*/false);
  const auto left = [&](int done, int all) {
    progress.Show(done, all);
    const std::vector<std::string> words = absl::StrSplit(Shown(), "] ");
    return words.back();
  };
  clock_.seconds += 10;
  progress.Add(Record({}), /*fresh=*/false);
  EXPECT_EQ(left(1, 10), "1 of 10, 10 s, 0 s left\n");
  progress.Add(Record({.prompt = 1}), /*fresh=*/true);
  EXPECT_EQ(left(2, 10), "2 of 10, 10 s, 1:20 min left\n");
  progress.Add(Record({.prompt = 2}), /*fresh=*/true);
  EXPECT_EQ(left(3, 10), "3 of 10, 10 s, 35 s left\n");
  clock_.seconds += 3713;
  EXPECT_EQ(left(5, 6), "5 of 6, 1:02 h, 31:02 min left\n");
}

std::vector<std::vector<std::string>> Words(const std::string& shown) {
  std::vector<std::vector<std::string>> lines;
  for (const std::string& line : std::vector<std::string>(
           absl::StrSplit(shown, '\n', absl::SkipEmpty()))) {
    EXPECT_TRUE(absl::StrContains(line, "\r\033[K"));
    const std::vector<std::string> halves = absl::StrSplit(line, "\033[K");
    lines.push_back(absl::StrSplit(halves.back(), ' ', absl::SkipWhitespace()));
  }
  return lines;
}

TEST_F(RunProgressTest, ShowsEachMethodOverItsCellsBesideItsBaseline) {
  RunProgress progress = Make(/*terminal=*/true);
  for (const Work& work : std::vector<Work>{
           {.cell = 0, .ms = 40, .tokens = 10, .rounds = 10},
           {.cell = 1, .ms = 20, .tokens = 10, .rounds = 4},
           // Without a baseline, with one of no tokens, and with one.
           {.cell = 2, .prompt = 1, .ms = 6, .tokens = 2, .rounds = 2},
           {.cell = 0, .prompt = 2, .ms = 1, .tokens = 0, .rounds = 1},
           {.cell = 1, .prompt = 2, .ms = 3, .tokens = 3, .rounds = 1},
           {.cell = 0, .prompt = 3, .ms = 9, .tokens = 9, .rounds = 9},
           {.cell = 2, .prompt = 3, .ms = 10, .tokens = 5, .rounds = 5},
           {.cell = 3, .prompt = 4, .ms = 8, .tokens = 0, .rounds = 0}})
    progress.Add(Record(work), /*fresh=*/true);
  progress.Show(8, 16);
  const auto lines = Words(Shown());
  ASSERT_EQ(lines.size(), 5);
  EXPECT_THAT(lines[1], ElementsAre("plain", "2.632", "0.95", "1.00"));
  // 39 ms and 20 tokens in 12 rounds; 45 ms of plain decoding for 30.
  EXPECT_THAT(lines[2], ElementsAre("chain", "1.950", "1.67", "1.50"));
  EXPECT_THAT(lines[3], ElementsAre("tree", "0.000", "0.00", "-"));
  EXPECT_EQ(lines[4][1], "8");
}

TEST_F(RunProgressTest, DrawsOverWhatItDrew) {
  RunProgress progress = Make(/*terminal=*/true);
  progress.Add(Record({}), /*fresh=*/true);
  progress.Show(1, 4);
  EXPECT_THAT(Shown(), StartsWith("\r"));
  progress.Show(2, 4);
  EXPECT_THAT(Shown(), StartsWith("\033[3A\r"));
  progress.Finish();
  EXPECT_THAT(Shown(), IsEmpty());
  progress.Show(3, 4);
  EXPECT_THAT(Shown(), Not(HasSubstr("A\r")));
}

class StepProgressTest : public RunProgressTest {
 protected:
  // What is shown at each of ten steps of a second.
  std::vector<std::string> ShownBy(StepProgress& progress, int steps, int all) {
    std::vector<std::string> shown;
    for (int done = 0; done < steps; ++done) {
      progress.Show(done, all);
      shown.push_back(Shown());
      clock_.seconds += 1;
    }
    return shown;
  }
};

TEST_F(StepProgressTest, IsALineEachTenthOfLongWork) {
  StepProgress progress({"trying cells", clock_, out_, /*terminal=*/false});
  EXPECT_THAT(
      ShownBy(progress, 8, 50),
      ElementsAre("", "", "banyan: trying cells: 2 of 50, 48 s left\n", "", "",
                  "banyan: trying cells: 5 of 50, 45 s left\n", "", ""));
}

TEST_F(StepProgressTest, IsDrawnOverAndWipedOnATerminal) {
  {
    StepProgress progress({"trying cells", clock_, out_, /*terminal=*/true});
    EXPECT_THAT(ShownBy(progress, 4, 50),
                ElementsAre("", "", "\r\033[Ktrying cells: 2 of 50, 48 s left",
                            "\r\033[Ktrying cells: 3 of 50, 47 s left"));
  }
  EXPECT_EQ(Shown(), "\r\033[K");
  // Of short work there is nothing to wipe.
  StepProgress({"trying cells", clock_, out_, /*terminal=*/true}).Show(0, 1);
  EXPECT_THAT(Shown(), IsEmpty());
}

}  // namespace
}  // namespace banyan
