#include "experiments/run/level_costs.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

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

// The prompt's record, of the second time: the first one warms up.
absl::StatusOr<records::PromptRecord> Tried(PreparedCell& cell,
                                            const PreparedPrompt& prompt) {
  StopRule stop = cell.stop;
  stop.max_new_tokens = std::min(kTokens, stop.max_new_tokens);
  const std::vector<Asked> asked = {{&prompt, 0, prompt.number, prompt.tokens}};
  BANYAN_RETURN_IF_ERROR(DecodeAsked(cell, asked, stop).status());
  BANYAN_ASSIGN_OR_RETURN(const std::vector<records::PromptRecord> records,
                          DecodeAsked(cell, asked, stop));
  return records.front();
}

}  // namespace

absl::StatusOr<std::vector<LevelCost>> TryLevels(PreparedRun& run) {
  std::vector<LevelCost> costs;
  if (run.prompts.empty()) return costs;
  std::vector<records::PromptRecord> tried;
  for (PreparedCell& cell : run.cells) {
    BANYAN_ASSIGN_OR_RETURN(OpenCell open, OpenCell::Of(cell));
    BANYAN_ASSIGN_OR_RETURN(records::PromptRecord record,
                            Tried(*open, run.prompts.front()));
    tried.push_back(std::move(record));
  }
  BANYAN_ASSIGN_OR_RETURN(const MetricRow* metric, FindMetric("drafter_cost"));
  for (std::size_t i = 0; i < tried.size(); ++i) {
    const records::Cell& cell = run.cells[i].description;
    Counts counts;
    metric->count({&cell, &tried[i], &tried[cell.baseline()]}, counts);
    const auto part = counts.parts.find("");
    if (part == counts.parts.end()) continue;
    const std::optional<double> value = Value(metric->form, part->second);
    if (value.has_value()) costs.push_back({cell.name(), *value});
  }
  return costs;
}

}  // namespace banyan
