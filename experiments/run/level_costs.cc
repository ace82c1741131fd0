#include "experiments/run/level_costs.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "core/base/status_macros.h"
#include "decode/sequence.h"
#include "experiments/metrics/level_cost.h"
#include "experiments/metrics/median.h"
#include "experiments/metrics/round_figures.h"
#include "experiments/records/record.pb.h"
#include "experiments/run/prepared_cells.h"
#include "experiments/run/prepared_prompts.h"
#include "experiments/run/prepared_run.h"
#include "experiments/run/recording.h"
#include "tree/optimize/cost_curve.h"

namespace banyan {
namespace {

constexpr int kTokens = 32;  // of each prompt
constexpr double kNsPerMs = 1e6;

// None of a round that drafted nothing.
std::optional<double> LevelMs(const records::Round& round,
                              const CostCurve& passes) {
  const int levels = Levels(round);
  if (levels == 0) return std::nullopt;
  if (round.device_ns() > 0) {
    const absl::StatusOr<double> pass = passes.At(PassTokens(round));
    if (!pass.ok()) return std::nullopt;
    const double whole =
        static_cast<double>(round.device_ns() + round.commit_ns()) / kNsPerMs;
    return std::max(0.0, whole - *pass) / levels;
  }
  const std::int64_t draft_ns = std::accumulate(
      round.draft_ns().begin(), round.draft_ns().end(), std::int64_t{0});
  const double around_ns = static_cast<double>(
      round.derive_ns() + round.verify_ns() + round.commit_ns());
  return CostOfLevel(static_cast<double>(draft_ns), around_ns, levels) /
         kNsPerMs;
}

// The median of all rounds, whole.
double RoundMs(const std::vector<records::PromptRecord>& records) {
  std::vector<double> ms;
  for (const records::PromptRecord& record : records)
    for (const records::Round& round : record.rounds())
      ms.push_back(RoundNs(round) / kNsPerMs);
  return ms.empty() ? 0 : Median(std::move(ms));
}

}  // namespace

absl::StatusOr<std::vector<records::PromptRecord>> DecodeWarm(
    PreparedCell& cell, const std::vector<PreparedPrompt>& prompts,
    std::size_t count) {
  StopRule stop = cell.stop;
  stop.max_new_tokens = std::min(kTokens, stop.max_new_tokens);
  count = std::min(prompts.size(),
                   std::max(count, static_cast<std::size_t>(cell.batch)));
  std::vector<Asked> asked;
  for (std::size_t i = 0; i < count; ++i)
    asked.push_back({&prompts[i], 0, prompts[i].number, prompts[i].tokens});
  BANYAN_RETURN_IF_ERROR(DecodeAsked(cell, asked, stop).status());
  return DecodeAsked(cell, asked, stop);
}

double LevelMs(const std::vector<records::PromptRecord>& records,
               const CostCurve& passes) {
  std::vector<double> ms;
  for (const records::PromptRecord& record : records)
    for (const records::Round& round : record.rounds())
      if (const std::optional<double> one = LevelMs(round, passes))
        ms.push_back(*one);
  return ms.empty() ? 0 : Median(std::move(ms));
}

absl::StatusOr<std::vector<LevelCost>> TryLevels(
    PreparedRun& run, absl::FunctionRef<void(int done, int all)> progress) {
  std::vector<LevelCost> costs;
  if (run.prompts.empty()) return costs;
  std::vector<std::size_t> firsts;
  for (std::size_t i = 0; i < run.cells.size(); ++i)
    if (run.cells[i].setting == i) firsts.push_back(i);
  std::map<std::size_t, std::vector<records::PromptRecord>> tried;
  for (const std::size_t i : firsts) {
    progress(static_cast<int>(tried.size()), static_cast<int>(firsts.size()));
    BANYAN_ASSIGN_OR_RETURN(OpenCell open, OpenCell::Of(run.cells[i]));
    BANYAN_ASSIGN_OR_RETURN(tried[i], DecodeWarm(*open, run.prompts, 1));
  }
  for (const std::size_t i : firsts) {
    const records::Cell& cell = run.cells[i].description;
    const double plain_ms = RoundMs(tried[run.cells[cell.baseline()].setting]);
    if (cell.trunks_size() == 0 || plain_ms <= 0) continue;
    constexpr int kWidest = 1 << 20;
    BANYAN_ASSIGN_OR_RETURN(
        const CostCurve passes,
        CostCurve::FromMap("plain rounds",
                           {{1, plain_ms}, {kWidest, plain_ms}}));
    const double level_ms = LevelMs(tried[i], passes);
    if (level_ms > 0) costs.push_back({cell.name(), level_ms / plain_ms});
  }
  return costs;
}

}  // namespace banyan
