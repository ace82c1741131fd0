// banyan compare on recorded times: one program, run under different loads.
// recorded_times.txt says how it was recorded.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/check.h"
#include "experiments/records/record.pb.h"
#include "experiments/records/record_file.h"
#include "experiments/records/record_set.h"
#include "experiments/report/compare.h"
#include "tests/experiments/metrics/hand_made.h"
#include "tests/experiments/test_files.h"

namespace banyan {
namespace {

constexpr char kTimes[] = "tests/experiments/report/recorded_times.txt";

using Times = std::vector<std::int64_t>;  // microseconds, by prompt
using CellTimes =
    std::vector<std::pair<std::string, Times>>;  // by cell, plain first

// A line a run and cell: "RUN CELL TIME TIME ...", beside comments.
std::map<int, CellTimes> ReadRuns() {
  std::map<int, CellTimes> runs;
  const std::vector<std::string> lines =
      absl::StrSplit(FileText(kTimes), '\n', absl::SkipEmpty());
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

// A run whose prompts take as long as sixteen recorded ones each, drawn with
// what all cells took for them, on a machine that is slower by a factor.
CellTimes Longer(const CellTimes& run, double slower, std::uint64_t seed) {
  constexpr int kTogether = 16;
  const std::size_t prompts = run.front().second.size();
  std::mt19937_64 dice(seed);
  std::vector<std::size_t> drawn(prompts * kTogether);
  for (std::size_t& prompt : drawn) prompt = dice() % prompts;
  CellTimes longer;
  for (const auto& [name, times] : run) {
    Times sums(prompts, 0);
    for (std::size_t i = 0; i < drawn.size(); ++i)
      sums[i / kTogether] +=
          std::llround(slower * static_cast<double>(times[drawn[i]]));
    longer.emplace_back(name, std::move(sums));
  }
  return longer;
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

  // Of all pairs of recorded runs.
  void CountRecorded(const NoiseOptions& options) {
    const std::map<int, CellTimes> runs = ReadRuns();
    for (auto a = runs.begin(); a != runs.end(); ++a)
      for (auto b = std::next(a); b != runs.end(); ++b) {
        const double drift =
            Mean(b->second[0].second) / Mean(a->second[0].second);
        if (std::max(drift, 1 / drift) <= options.most_drift)
          Count(a->second, b->second, options);
      }
  }

  // Of two made runs for each recorded one, the second on a machine that is
  // slower by a quarter.
  void CountLonger(const NoiseOptions& options) {
    std::uint64_t seed = 1;
    for (const auto& [number, run] : ReadRuns()) {
      const CellTimes a = Longer(run, 1, ++seed);
      Count(a, Longer(run, 1.25, ++seed), options);
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
TEST_F(CompareNoiseTest, OneProgramUnderDifferentLoadsIsNotCalledDifferent) {
  CountRecorded({});
  EXPECT_EQ(all_, 6 * 15);
  EXPECT_LE(verdicts_["faster"] + verdicts_["slower"], all_ / 20);
}

// As they are, the runs can show a third.
TEST_F(CompareNoiseTest, AThirdMoreTimeIsSeen) {
  CountRecorded({.slower_b = 1.33, .most_drift = 1.5});
  EXPECT_GE(all_, 6 * 3);
  EXPECT_GE(10 * verdicts_["slower"], 8 * all_);
}

// Prompts of a third of a second instead of 20 ms show a tenth.
TEST_F(CompareNoiseTest, LongerPromptsOfOneProgramAreNotCalledDifferent) {
  CountLonger({});
  EXPECT_EQ(all_, 6 * 6);
  EXPECT_LE(verdicts_["faster"] + verdicts_["slower"], all_ / 20);
}

TEST_F(CompareNoiseTest, ATenthMoreTimeIsSeenOnLongerPrompts) {
  CountLonger({.slower_b = 1.1});
  EXPECT_EQ(all_, 6 * 6);
  EXPECT_GE(10 * verdicts_["slower"], 8 * all_);
}

TEST_F(CompareNoiseTest, ATenthLessTimeIsSeenOnLongerPrompts) {
  CountLonger({.slower_a = 1.1});
  EXPECT_EQ(all_, 6 * 6);
  EXPECT_GE(10 * verdicts_["faster"], 8 * all_);
}

}  // namespace
}  // namespace banyan
