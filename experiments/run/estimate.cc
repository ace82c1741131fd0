#include "experiments/run/estimate.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/base/common.h"
#include "core/base/weight_format.h"
#include "core/model/model.h"
#include "decode/decoder.h"
#include "decode/method.h"
#include "experiments/loading/method_file.h"
#include "experiments/records/machine.h"
#include "experiments/records/record_set.h"
#include "experiments/run/prepared_cells.h"
#include "experiments/run/run_file.h"
#include "experiments/run/shard.h"
#include "tree/optimize/cost_curve.h"
#include "tree/tree_policy.h"

namespace banyan {
namespace {

constexpr std::size_t kLargestBuffer = std::size_t{1} << 30;
constexpr double kMsPerSecond = 1e3;

// Returns the tables of this machine; acceptance, which tells the kinds of
// drafters, is of any.
Costs OfMachine(const Costs& costs, const std::string& machine) {
  Costs own = {.acceptance = costs.acceptance};
  for (const PassCosts& passes : costs.passes)
    if (passes.from.machine == machine) own.passes.push_back(passes);
  for (const LevelCosts& level : costs.levels)
    if (level.from.machine == machine) own.levels.push_back(level);
  return own;
}

CostQuestion QuestionOf(const PreparedCell& cell) {
  return {.target = TargetName(cell.description),
          .weights = cell.description.target().weights(),
          .memory = cell.memory,
          .temperature = cell.description.temperature(),
          .batch = cell.batch};
}

// What passes of models take on a device.
class Passes {
 public:
  Passes(const Costs& costs, Backend& backend, const Clock& clock)
      : costs_(OfMachine(costs, MachineText(DescribeMachine(backend)))),
        backend_(backend),
        clock_(clock) {}

  // Returns the seconds of a pass of the cell's target.
  absl::StatusOr<double> TargetSeconds(const PreparedCell& cell,
                                       double tokens) {
    const CostQuestion question = QuestionOf(cell);
    const PassCosts* passes = BestPasses(costs_, question);
    if (passes == nullptr || passes->setting.target != question.target ||
        passes->setting.weights != question.weights ||
        passes->setting.memory != question.memory)
      return Seconds(*cell.target.model, tokens);
    BANYAN_ASSIGN_OR_RETURN(const CostCurve curve,
                            CostCurve::FromMap("passes", passes->ms));
    const absl::StatusOr<double> ms = curve.At(static_cast<int>(tokens));
    return ms.ok() ? *ms / kMsPerSecond : Seconds(*cell.target.model, tokens);
  }

  // Returns the seconds of a drafted level of a trunk; nothing where it was not
  // measured beside this target.
  std::optional<double> LevelSeconds(const PreparedCell& cell,
                                     const records::Trunk& trunk) {
    CostQuestion question = QuestionOf(cell);
    question.drafter = {.label = trunk.label(), .kind = trunk.drafter()};
    Costs of_target = {.acceptance = costs_.acceptance};
    for (const LevelCosts& level : costs_.levels)
      if (level.setting.target == question.target)
        of_target.levels.push_back(level);
    const LevelCosts* level = BestLevel(of_target, question);
    if (level == nullptr) return std::nullopt;
    return level->ms / kMsPerSecond;
  }

  absl::StatusOr<double> Seconds(const Model& model, double tokens) {
    const ModelFacts facts = model.facts();
    BANYAN_ASSIGN_OR_RETURN(const Limits limits, LimitsFor(facts));
    double seconds =
        std::max(static_cast<double>(facts.streamed_bytes) / limits.first,
                 tokens * facts.operations_per_token / limits.second);
    if (facts.disk_bytes > 0) {
      BANYAN_ASSIGN_OR_RETURN(const double disk, DiskBandwidth(model));
      seconds = std::max(seconds, static_cast<double>(facts.disk_bytes) / disk);
    }
    return seconds;
  }

  // What opening a cell's target and its copies reads from disk: at most all of
  // its file.
  absl::StatusOr<double> Opening(const PreparedCell& cell) {
    const ModelFacts facts = cell.target.model->facts();
    if (facts.disk_bytes == 0) return 0.0;
    BANYAN_ASSIGN_OR_RETURN(const double disk,
                            DiskBandwidth(*cell.target.model));
    return static_cast<double>(facts.streamed_bytes) / disk;
  }

 private:
  using Limits = std::pair<double, double>;  // bytes and operations a second

  absl::StatusOr<Limits> LimitsFor(const ModelFacts& facts) {
    const auto key = std::pair(facts.streamed_bytes, facts.format);
    if (const auto found = limits_.find(key); found != limits_.end())
      return found->second;
    BANYAN_ASSIGN_OR_RETURN(
        const std::unique_ptr<Gauge> gauge,
        backend_.NewGauge(
            std::min<std::size_t>(facts.streamed_bytes, kLargestBuffer),
            clock_));
    Limits limits;
    BANYAN_ASSIGN_OR_RETURN(limits.first, gauge->ReadBandwidth());
    BANYAN_ASSIGN_OR_RETURN(limits.second, gauge->Peak(facts.format));
    limits_.emplace(key, limits);
    return limits;
  }

  // Bytes a second, of the first such model: all lie on one disk.
  absl::StatusOr<double> DiskBandwidth(const Model& model) {
    if (disk_ > 0) return disk_;
    const std::int64_t start = clock_.NowNs();
    BANYAN_ASSIGN_OR_RETURN(const std::uint64_t bytes, model.ReadFromDisk());
    disk_ = static_cast<double>(bytes) * 1e9 /
            static_cast<double>(clock_.NowNs() - start);
    return disk_;
  }

  Costs costs_;
  Backend& backend_;
  const Clock& clock_;
  std::map<std::pair<std::size_t, WeightFormat>, Limits> limits_;
  double disk_ = 0;  // 0: not known yet
};

// A level where it was not measured: the models that draft, in no order, since
// a method does not say which trunk is whose; each is charged their mean.
absl::StatusOr<double> MeanLevelSeconds(const PreparedCell& cell,
                                        Passes& passes) {
  double sum = 0;
  int models = 0;
  for (const MethodModel& drafter : cell.method.models) {
    if (drafter.model == nullptr) continue;
    BANYAN_ASSIGN_OR_RETURN(const double one,
                            passes.Seconds(*drafter.model, cell.batch));
    sum += one;
    ++models;
  }
  return models == 0 ? 0 : sum / models;
}

// Of the pass that scores a trunk's tree, beside the root's. Where its paths
// share none, a tree has the more rows the more leaves stand the deeper.
int MostRows(const Trunk& trunk, Scoring scoring) {
  const PolicyTraits traits = trunk.policy->traits();
  const int nodes = traits.nodes + trunk.drafter->traits().probes;
  if (scoring == Scoring::kMerged || traits.chain) return nodes;
  const int level = std::min(traits.levels, nodes / 2);
  return (nodes - level + 1) * (level + 1);
}

// What a cell's rounds cost.
struct RoundEstimate {
  double s = 0;
  int deepest = 0;  // draft tokens that may be accepted
};

absl::StatusOr<RoundEstimate> EstimateRound(const PreparedCell& cell,
                                            Passes& passes) {
  RoundEstimate round;
  int rows = 0;
  const Method& method = cell.method.decoder->method();
  for (std::size_t i = 0; i < method.trunks.size(); ++i) {
    const Trunk& trunk = method.trunks[i];
    const PolicyTraits traits = trunk.policy->traits();
    // A policy of all drafters says how many rows they have together.
    if (i == 0 || trunk.policy->of_method() == nullptr)
      rows += MostRows(trunk, method.scoring);
    round.deepest = std::max(round.deepest, traits.levels);
    std::optional<double> level_s =
        passes.LevelSeconds(cell, cell.description.trunks(static_cast<int>(i)));
    if (!level_s.has_value()) {
      BANYAN_ASSIGN_OR_RETURN(level_s, MeanLevelSeconds(cell, passes));
    }
    round.s += traits.levels * *level_s;  // trunks draft one after another
  }
  BANYAN_ASSIGN_OR_RETURN(
      const double target,
      passes.TargetSeconds(cell, cell.batch * (rows + 1.0)));
  round.s += target;
  return round;
}

// One cell on the prompts of one unit, all their turns.
absl::StatusOr<RunEstimate> EstimateUnit(const PreparedRun& run,
                                         const PreparedCell& cell,
                                         const std::vector<std::size_t>& unit,
                                         const RoundEstimate& round,
                                         Passes& passes) {
  RunEstimate estimate;
  double tokens = 0;
  for (std::size_t place : unit) {
    const PreparedPrompt& prompt = run.prompts[place];
    tokens += prompt.turns() * cell.stop.max_new_tokens;
    BANYAN_ASSIGN_OR_RETURN(
        const double prefill,
        passes.Seconds(*cell.target.model,
                       static_cast<double>(prompt.tokens.size())));
    estimate.most_s += prompt.turns() * prefill;
  }
  const int records = run.prompts[unit.front()].turns();  // one after another
  if (cell.open) {
    BANYAN_ASSIGN_OR_RETURN(const double opening, passes.Opening(cell));
    estimate.most_s += records * opening;
  }
  // As many at a time as the batch has; the last ones may be fewer.
  const double together = static_cast<double>(cell.batch);
  const double shares = std::ceil(static_cast<double>(unit.size()) / together) *
                        together / static_cast<double>(unit.size());
  const double rounds_s = tokens * shares / together * round.s;
  estimate.least_s = estimate.most_s + rounds_s / (round.deepest + 1);
  estimate.most_s += rounds_s;
  estimate.longest_s = estimate.most_s / records;
  return estimate;
}

}  // namespace

absl::StatusOr<std::vector<RunEstimate>> EstimateShards(
    const PreparedRun& run, int shards, records::Cut cut, const Costs& costs,
    Backend& backend, const Clock& clock) {
  Passes passes(costs, backend, clock);
  std::vector<RunEstimate> estimates(static_cast<std::size_t>(shards));
  std::vector<Share> shares;
  for (int i = 0; i < shards; ++i)
    shares.emplace_back(run, Shard{i, shards, cut});
  const std::vector<std::vector<std::size_t>> units = run.Units();
  for (std::size_t cell = 0; cell < run.cells.size(); ++cell) {
    BANYAN_ASSIGN_OR_RETURN(const RoundEstimate round,
                            EstimateRound(run.cells[cell], passes));
    for (std::size_t unit = 0; unit < units.size(); ++unit) {
      BANYAN_ASSIGN_OR_RETURN(
          const RunEstimate one,
          EstimateUnit(run, run.cells[cell], units[unit], round, passes));
      for (std::size_t i = 0; i < shares.size(); ++i) {
        if (!shares[i].Has(cell, unit)) continue;
        RunEstimate& sum = estimates[i];
        sum.least_s += one.least_s;
        sum.most_s += one.most_s;
        sum.longest_s = std::max(sum.longest_s, one.longest_s);
      }
    }
  }
  return estimates;
}

}  // namespace banyan
