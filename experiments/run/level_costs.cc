#include "experiments/run/level_costs.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "core/base/status_macros.h"
#include "decode/sequence.h"
#include "experiments/metrics/catalogue.h"
#include "experiments/metrics/metric.h"
#include "experiments/records/prompt_pair.h"
#include "experiments/records/record.pb.h"
#include "experiments/run/prepared_cells.h"
#include "experiments/run/prepared_prompts.h"
#include "experiments/run/prepared_run.h"
#include "experiments/run/recording.h"

namespace banyan {
namespace {

constexpr int kTokens = 24;
constexpr int kWarmTokens = 8;  // of these

// Drops the rounds of the first tokens, which warm up. False if none is left.
bool DropWarmUp(records::PromptRecord& record) {
  int rounds = 0;
  for (std::uint32_t tokens = 0;
       rounds < record.rounds_size() && tokens < kWarmTokens; ++rounds)
    tokens += record.rounds(rounds).emitted();
  record.mutable_rounds()->DeleteSubrange(0, rounds);
  return record.rounds_size() > 0;
}

absl::StatusOr<records::PromptRecord> Tried(PreparedCell& cell,
                                            const PreparedPrompt& prompt) {
  StopRule stop = cell.stop;
  stop.max_new_tokens = std::min(kTokens, stop.max_new_tokens);
  const auto decode = [&] {
    return DecodeAsked(cell, {{&prompt, 0, prompt.number, prompt.tokens}},
                       stop);
  };
  BANYAN_ASSIGN_OR_RETURN(std::vector<records::PromptRecord> records, decode());
  // Where all its rounds warmed up, those of a second time are warm.
  if (!DropWarmUp(records.front())) {
    BANYAN_ASSIGN_OR_RETURN(records, decode());
  }
  return std::move(records.front());
}

}  // namespace

absl::StatusOr<std::vector<LevelCost>> TryLevels(
    PreparedRun& run, absl::FunctionRef<void(int done, int all)> progress) {
  std::vector<LevelCost> costs;
  if (run.prompts.empty()) return costs;
  std::vector<std::size_t> firsts;
  for (std::size_t i = 0; i < run.cells.size(); ++i)
    if (run.cells[i].setting == i) firsts.push_back(i);
  std::map<std::size_t, records::PromptRecord> tried;  // by setting
  for (const std::size_t i : firsts) {
    progress(static_cast<int>(tried.size()), static_cast<int>(firsts.size()));
    BANYAN_ASSIGN_OR_RETURN(OpenCell open, OpenCell::Of(run.cells[i]));
    BANYAN_ASSIGN_OR_RETURN(tried[i], Tried(*open, run.prompts.front()));
  }
  BANYAN_ASSIGN_OR_RETURN(const MetricRow* metric, FindMetric("drafter_cost"));
  for (const std::size_t i : firsts) {
    const records::Cell& cell = run.cells[i].description;
    const std::size_t baseline = run.cells[cell.baseline()].setting;
    Counts counts;
    metric->count({&cell, &tried.at(i), &tried.at(baseline)}, counts);
    const auto part = counts.parts.find("");
    if (part == counts.parts.end()) continue;
    const std::optional<double> value = Value(metric->form, part->second);
    if (value.has_value()) costs.push_back({cell.name(), *value});
  }
  return costs;
}

}  // namespace banyan
