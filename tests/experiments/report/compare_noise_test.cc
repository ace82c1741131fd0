// banyan compare on recorded times: one program, run under different loads.
// recorded_times.txt and recorded_loads.txt say how they were recorded.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/common.h"
#include "experiments/records/record.pb.h"
#include "experiments/records/record_file.h"
#include "experiments/records/record_set.h"
#include "experiments/report/compare.h"
#include "tests/experiments/metrics/hand_made.h"
#include "tests/experiments/test_files.h"

namespace banyan {
namespace {

constexpr char kFolder[] = "tests/experiments/report/";
constexpr char kBuilds[] = "recorded_times.txt";  // six runs
constexpr char kLoads[] = "recorded_loads.txt";   // ten

using Times = std::vector<std::int64_t>;  // microseconds, by prompt
using CellTimes =
    std::vector<std::pair<std::string, Times>>;  // by cell, plain first

// A line a run and cell: "RUN CELL TIME TIME ...", beside comments.
std::map<int, CellTimes> ReadRuns(const char* file) {
  std::map<int, CellTimes> runs;
  const std::vector<std::string> lines = absl::StrSplit(
      FileText(absl::StrCat(kFolder, file)), '\n', absl::SkipEmpty());
  for (const std::string& line : lines) {
    if (line.front() == '#') continue;
    const std::vector<std::string> words = absl::StrSplit(line, ' ');
    Times times;
    for (std::size_t i = 2; i < words.size(); ++i)
      times.push_back(std::stoll(words[i]));
    runs[std::stoi(words[0])].emplace_back(words[1], std::move(times));
  }
  return runs;
}

struct NoiseOptions {
  double slower_a = 1;  // the methods' times are multiplied by it
  double slower_b = 1;
  double most_drift = 1e9;  // of plain decoding; other pairs are left out
};

double Mean(const Times& times) {
  double sum = 0;
  for (const std::int64_t time : times) sum += static_cast<double>(time);
  return sum / static_cast<double>(times.size());
}

class CompareNoiseTest : public FolderTest {
 protected:
  // One token a prompt, which took as long as all of the recorded ones did: all
  // runs emitted the same.
  RecordSet SetOf(const CellTimes& run, double slower) {
    records::Context context;
    context.set_experiment_hash("0011");
    context.set_shards(1);
    context.mutable_workload()->set_prompts(
        static_cast<std::uint32_t>(run.front().second.size()));
    for (const auto& [name, times] : run) {
      records::Cell cell = CellOf(context.cells_size() == 0 ? 0 : 1);
      cell.set_name(name);
      *context.add_cells() = cell;
    }
    const std::string path = absl::StrCat(OwnFolder(), "/", ++sets_, ".banyan");
    auto writer = RecordWriter::Create(path, context);
    Check(writer.ok(), writer.status().ToString());
    for (std::size_t cell = 0; cell < run.size(); ++cell)
      for (std::size_t prompt = 0; prompt < run[cell].second.size(); ++prompt) {
        const double us = static_cast<double>(run[cell].second[prompt]) *
                          (cell == 0 ? 1 : slower);
        Check((*writer)->Append(Recorded(cell, prompt, us)).ok(), "written");
      }
    writer->reset();
    auto set = ReadRecordSet({path}, false);
    Check(set.ok(), set.status().ToString());
    return *std::move(set);
  }

  void Count(const CellTimes& a, const CellTimes& b,
             const NoiseOptions& options) {
    const auto compared =
        Compare(SetOf(a, options.slower_a), SetOf(b, options.slower_b), {});
    Check(compared.ok(), compared.status().ToString());
    for (const ComparedCell& cell : compared->cells) {
      if (cell.verdict == "baseline") continue;
      ++verdicts_[cell.verdict];
      ++all_;
    }
  }

  // Of all pairs of the six runs.
  void CountBuilds(const NoiseOptions& options) {
    const std::map<int, CellTimes> runs = ReadRuns(kBuilds);
    for (auto a = runs.begin(); a != runs.end(); ++a)
      for (auto b = std::next(a); b != runs.end(); ++b) {
        const double drift =
            Mean(b->second[0].second) / Mean(a->second[0].second);
        if (std::max(drift, 1 / drift) <= options.most_drift)
          Count(a->second, b->second, options);
      }
  }

  // Of the ten runs as five pairs, each of two loads, and each way round.
  void CountLoads(const NoiseOptions& options) {
    const std::map<int, CellTimes> runs = ReadRuns(kLoads);
    for (int pair = 0; pair < 5; ++pair) {
      const CellTimes& a = runs.at(2 * pair + 1);
      const CellTimes& b = runs.at(2 * pair + 2);
      Count(a, b, options);
      Count(b, a, options);
    }
  }

  std::map<std::string, int> verdicts_;  // of methods
  int all_ = 0;

 private:
  static records::PromptRecord Recorded(std::size_t cell, std::size_t prompt,
                                        double us) {
    records::PromptRecord record = Plain(1);
    record.set_cell(static_cast<std::uint32_t>(cell));
    record.set_prompt(static_cast<std::uint32_t>(prompt));
    records::Round& round = *record.mutable_rounds(0);
    round.set_verify_ns(0);
    round.set_target_ns(std::llround(1000 * us));
    if (cell > 0) round.add_draft_ns(0);
    return record;
  }

  int sets_ = 0;
};

// Six methods in fifteen pairs, between which plain decoding drifts by up to a
// factor of 6.7.
TEST_F(CompareNoiseTest, OneProgramBesideBuildsIsNotCalledDifferent) {
  CountBuilds({});
  EXPECT_EQ(all_, 6 * 15);
  EXPECT_LE(verdicts_["faster"] + verdicts_["slower"], all_ / 20);
}

// Between a load of 0 and of 1 plain decoding hardly drifts, and speedups
// differ by up to a quarter.
TEST_F(CompareNoiseTest, OneProgramUnderDifferentLoadsIsNotCalledDifferent) {
  CountLoads({});
  EXPECT_EQ(all_, 6 * 10);
  EXPECT_LE(verdicts_["faster"] + verdicts_["slower"], all_ / 20);
}

// What two runs of one program differ by hides a tenth, but not a third.
TEST_F(CompareNoiseTest, AThirdMoreTimeIsSeenUnderDifferentLoads) {
  CountLoads({.slower_b = 1.33});
  EXPECT_EQ(all_, 6 * 10);
  EXPECT_GE(10 * verdicts_["slower"], 8 * all_);
}

TEST_F(CompareNoiseTest, AThirdLessTimeIsSeenUnderDifferentLoads) {
  CountLoads({.slower_a = 1.33});
  EXPECT_EQ(all_, 6 * 10);
  EXPECT_GE(10 * verdicts_["faster"], 8 * all_);
}

// Of the six runs those that drift less from one another.
TEST_F(CompareNoiseTest, AThirdMoreTimeIsSeenBesideBuilds) {
  CountBuilds({.slower_b = 1.33, .most_drift = 1.5});
  EXPECT_GE(all_, 6 * 3);
  EXPECT_GE(10 * verdicts_["slower"], 8 * all_);
}

}  // namespace
}  // namespace banyan
