#include "experiments/run/drafter_costs.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <set>
#include <tuple>
#include <utility>

#include "absl/time/time.h"
#include "core/base/messages.h"
#include "decode/method.h"
#include "drafters/drafter.h"
#include "experiments/metrics/catalogue.h"
#include "experiments/metrics/estimate.h"
#include "experiments/metrics/round_figures.h"
#include "experiments/plan/method_spec.h"
#include "experiments/plan/opponents.h"
#include "experiments/records/machine.h"
#include "experiments/run/machine_costs.h"
#include "experiments/run/prepared_cells.h"
#include "experiments/run/prepared_run.h"
#include "experiments/run/recording.h"

namespace banyan {

namespace {

// The tokens that its rounds drafted at most: near the end of a text it is
// fewer.
int LengthOf(const CellRecords& cell) {
  int length = 0;
  for (const PromptPair& pair : cell.pairs)
    for (const records::Round& round : pair.record->rounds())
      length = std::max(length, DraftedNodes(round));
  return length;
}

// A chain whose length does not follow what is drafted: of others, accepted
// tokens are counted where the drafter was sure.
bool IsChain(const records::Cell& cell) {
  return cell.lossless() && cell.trunks_size() == 1 && cell.trunks(0).chain() &&
         !cell.trunks(0).adapts();
}

// Older records do not name the drafters of trunks: one alone is called as its
// model's folder.
CountedDrafter DrafterOf(const records::Cell& cell, int number) {
  const records::Trunk& trunk = cell.trunks(number);
  CountedDrafter drafter = {.label = trunk.label(),
                            .kind = KindOf(trunk.drafter()),
                            .draws = DrawKindName(trunk.draws())};
  if (drafter.label.empty())
    drafter.label = cell.models_size() >= 1 && cell.trunks_size() == 1
                        ? DrafterLabel(trunk.drafter(),
                                       FolderName(cell.models(0).directory()))
                        : drafter.kind;
  return drafter;
}

CostSetting SettingOf(const records::Cell& cell) {
  return {.target = TargetName(cell),
          .weights = cell.target().weights(),
          .temperature = cell.temperature()};
}

// A draw at a node that was judged: of which trunk, and which of its own there.
struct Judged {
  std::uint32_t time = 0;
  const records::DrawList* list = nullptr;
  int rank = 0;
};

// The draws at a node in the order in which they are judged; a dropped one
// counts as refused. Draws of older records have no number in time: list comes
// after list.
std::vector<Judged> DrawsAt(const records::Round& round, int node) {
  std::vector<Judged> draws;
  for (const records::DrawList& list : round.lists()) {
    if (list.node() != node) continue;
    for (int rank = 0; rank < list.tokens_size(); ++rank)
      draws.push_back(
          {rank < list.times_size() ? list.times(rank) : 0, &list, rank});
  }
  std::stable_sort(
      draws.begin(), draws.end(),
      [](const Judged& a, const Judged& b) { return a.time < b.time; });
  return draws;
}

// The other trunks that proposed the token at the same node.
std::vector<int> AlsoOf(const std::vector<Judged>& draws, const Judged& own) {
  std::set<int> also;
  for (const Judged& other : draws)
    if (other.list->trunk() != own.list->trunk() &&
        other.list->tokens(other.rank) == own.list->tokens(own.rank))
      also.insert(other.list->trunk());
  return {also.begin(), also.end()};
}

CandidateCounts& CountsOf(int drafter, int depth, std::vector<int> also,
                          AcceptanceTable& table) {
  const auto at = std::find_if(table.counts.begin(), table.counts.end(),
                               [&](const CandidateCounts& one) {
                                 return one.drafter == drafter &&
                                        one.depth == depth && one.also == also;
                               });
  if (at != table.counts.end()) return *at;
  return table.counts.emplace_back(CandidateCounts{
      .drafter = drafter, .depth = depth, .also = std::move(also)});
}

void Count(int rank, std::vector<std::int64_t>& counts) {
  const auto at = static_cast<std::size_t>(rank);
  if (counts.size() <= at) counts.resize(at + 1);
  ++counts[at];
}

// Draws, which lead to `depth`, are judged in the order of time until one is
// accepted.
void CountNode(const records::Round& round, int node, int depth, int accepted,
               AcceptanceTable& table) {
  const std::vector<Judged> draws = DrawsAt(round, node);
  for (const Judged& draw : draws) {
    CandidateCounts& counts =
        CountsOf(draw.list->trunk(), depth, AlsoOf(draws, draw), table);
    Count(draw.rank, counts.judged);
    counts.accepted.resize(counts.judged.size());
    if (accepted < 0 || draw.list->children(draw.rank) != accepted) continue;
    Count(draw.rank, counts.accepted);
    return;
  }
}

void CountRound(const records::Round& round, AcceptanceTable& table) {
  ++table.rounds;
  int node = 0;
  int depth = 1;
  for (const int accepted : round.path()) {
    CountNode(round, node, depth++, accepted, table);
    node = accepted;
  }
  CountNode(round, node, depth, -1, table);
}

// Rows by drafter, depth and `also`.
AcceptanceTable Sorted(AcceptanceTable table) {
  std::sort(table.counts.begin(), table.counts.end(),
            [](const CandidateCounts& a, const CandidateCounts& b) {
              return std::tie(a.drafter, a.depth, a.also) <
                     std::tie(b.drafter, b.depth, b.also);
            });
  return table;
}

std::vector<ChainLength> FastestChains(const RecordSet& set) {
  std::vector<ChainLength> fastest;
  for (const CellRecords& cell : set.cells) {
    if (!IsChain(*cell.cell)) continue;
    const KeyedEstimates speed = EstimateAll(**FindMetric("speed"), cell.pairs);
    const auto value = speed.find("");
    ChainLength own = {.target = TargetName(*cell.cell),
                       .drafter = DrafterOf(*cell.cell, 0).label,
                       .temperature = cell.cell->temperature(),
                       .length = LengthOf(cell)};
    if (value == speed.end() || own.length == 0) continue;
    own.speed = value->second.value;
    const auto same = std::find_if(
        fastest.begin(), fastest.end(), [&](const ChainLength& other) {
          return other.target == own.target && other.drafter == own.drafter &&
                 other.temperature == own.temperature;
        });
    if (same == fastest.end())
      fastest.push_back(std::move(own));
    else if (own.speed > same->speed)
      *same = std::move(own);
  }
  return fastest;
}

}  // namespace

absl::Status AcceptanceCounter::Add(const records::Cell& cell,
                                    const records::PromptRecord& record) {
  if (!cell.lossless() || cell.trunks_size() == 0) return absl::OkStatus();
  AcceptanceTable wanted = {.setting = SettingOf(cell)};
  std::vector<std::string> identities;
  for (int i = 0; i < cell.trunks_size(); ++i) {
    wanted.drafters.push_back(DrafterOf(cell, i));
    identities.push_back(cell.trunks(i).identity());
  }
  auto at =
      std::find_if(tables_.begin(), tables_.end(), [&](const Counted& other) {
        return other.table.setting == wanted.setting &&
               other.table.drafters == wanted.drafters;
      });
  if (at == tables_.end())
    at = tables_.insert(tables_.end(),
                        {std::move(wanted), identities, cell.name()});
  if (at->identities != identities)
    return absl::InvalidArgumentError(absl::StrCat(
        "cells '", at->cell, "' and '", cell.name(), "' have drafters called ",
        absl::StrJoin(at->table.drafters, ", ",
                      [](std::string* out, const CountedDrafter& drafter) {
                        out->append(drafter.label);
                      }),
        " with other options or models; count them in runs of their own"));
  for (const records::Round& round : record.rounds())
    CountRound(round, at->table);
  return absl::OkStatus();
}

std::vector<AcceptanceTable> AcceptanceCounter::Tables() const {
  std::vector<AcceptanceTable> tables;
  for (const Counted& counted : tables_)
    if (!counted.table.counts.empty()) tables.push_back(Sorted(counted.table));
  return tables;
}

HeadTable CountHeads(const records::Cell& cell,
                     const std::vector<records::PromptRecord>& records) {
  HeadTable table = {.setting = SettingOf(cell), .drafter = DrafterOf(cell, 0)};
  for (const records::PromptRecord& record : records) {
    int first = 0;  // where in the text the round's tokens belong
    for (const records::Round& round : record.rounds()) {
      int node = 0;
      std::size_t head = 0;
      for (const records::DrawList& list : round.lists()) {
        const int at = first + static_cast<int>(head);
        if (list.node() != node || list.tokens_size() == 0 ||
            at >= record.tokens_size())
          continue;
        if (table.hits.size() <= head) {
          table.positions.resize(head + 1);
          table.hits.resize(head + 1);
        }
        ++table.positions[head];
        std::vector<std::int64_t>& hits = table.hits[head];
        hits.resize(std::max(hits.size(),
                             static_cast<std::size_t>(list.tokens_size())));
        for (int rank = 0; rank < list.tokens_size(); ++rank)
          if (list.tokens(rank) == record.tokens(at)) {
            ++hits[static_cast<std::size_t>(rank)];
            break;
          }
        node = list.children(0);
        ++head;
      }
      first += static_cast<int>(round.emitted());
    }
  }
  return table;
}

absl::StatusOr<Costs> CountCosts(const RecordSet& set) {
  Costs costs;
  AcceptanceCounter counter;
  for (const CellRecords& cell : set.cells)
    for (const PromptPair& pair : cell.pairs) {
      const absl::Status added = counter.Add(*cell.cell, *pair.record);
      if (!added.ok())
        return absl::InvalidArgumentError(
            absl::StrCat(set.files.front().path, ": ", added.message()));
    }
  costs.acceptance = counter.Tables();
  // Each machine may have another fastest length.
  if (set.machines.size() == 1) costs.chains = FastestChains(set);
  if (costs.acceptance.empty() && costs.chains.empty())
    return absl::InvalidArgumentError(absl::StrCat(
        set.files.front().path,
        ": no draft tokens found in lossless cells, and no chain"));
  const Provenance from = ProvenanceOf(set);
  for (AcceptanceTable& table : costs.acceptance) table.from = from;
  for (ChainLength& chain : costs.chains) chain.from = from;
  return costs;
}

Provenance ProvenanceOf(const RecordSet& set) {
  const records::Context& context = set.files.front().context;
  std::set<std::string> experiments;
  for (const RecordFile& file : set.files)
    experiments.insert(file.context.experiment_hash());
  return {
      .machine = set.machines.size() == 1
                     ? MachineText(context.machine())
                     : Counted(static_cast<std::int64_t>(set.machines.size()),
                               "machine"),
      .build = context.build().revision(),
      .source =
          absl::StrCat("records on ",
                       Counted(context.workload().prompts(), "prompt"), " of ",
                       std::filesystem::path(context.workload().path())
                           .lexically_normal()
                           .string(),
                       ", experiment ", absl::StrJoin(experiments, ", ")),
      .date = absl::FormatTime("%Y-%m-%d",
                               absl::FromUnixSeconds(context.started_unix_s()),
                               absl::UTCTimeZone())};
}

namespace {

absl::StatusOr<std::vector<records::PromptRecord>> DecodeAll(
    PreparedCell& cell, const PreparedRun& run) {
  std::vector<Asked> asked;
  for (const PreparedPrompt& prompt : run.prompts)
    asked.push_back({&prompt, 0, prompt.number, prompt.tokens});
  BANYAN_ASSIGN_OR_RETURN(OpenCell open, OpenCell::Of(cell));
  return DecodeAsked(*open, asked, (*open).stop);
}

// Returns a text that is the same for cells of one drafter that draft the same
// chain or tree of the same draws: at temperature 0 methods of several kinds of
// draws do.
std::string DraftsOf(const records::Cell& cell) {
  std::string drafts =
      absl::StrCat(cell.target().directory(), "\n", cell.target().weights(),
                   "\n", cell.temperature(), "\n", cell.batch());
  for (const records::Trunk& trunk : cell.trunks())
    absl::StrAppend(&drafts, "\n", trunk.identity(), " ", trunk.draws(), " ",
                    trunk.policy());
  return drafts;
}

// Keeps the first level of each drafter in each setting.
void DropSecondLevels(std::vector<LevelCosts>& levels) {
  std::vector<LevelCosts> kept;
  for (LevelCosts& level : levels)
    if (std::none_of(kept.begin(), kept.end(), [&](const LevelCosts& other) {
          return other.setting == level.setting && other.draws == level.draws &&
                 other.drafter == level.drafter;
        }))
      kept.push_back(std::move(level));
  levels = std::move(kept);
}

// The heads of a cell's only drafter; 0 if it has none, or is not alone.
int HeadsOf(const PreparedCell& cell) {
  const std::vector<Trunk>& trunks = cell.method.decoder->method().trunks;
  return trunks.size() == 1 ? trunks.front().drafter->traits().depth_heads : 0;
}

absl::StatusOr<PreparedRun> Prepared(const DrafterTask& task,
                                     std::vector<ExperimentCell> cells) {
  const Experiment experiment = {.workload = task.experiment.workload,
                                 .cells = std::move(cells)};
  return PrepareRun(experiment, task.workload, task.shelf, task.clock);
}

// Of the lossless cells whose drafter has heads, each drafter once.
absl::Status CountAllHeads(const DrafterTask& task,
                           const std::vector<ExperimentCell>& counted,
                           const PreparedRun& run, Costs& costs) {
  std::vector<ExperimentCell> cells;
  for (std::size_t i = 0; i < counted.size(); ++i) {
    const int heads = HeadsOf(run.cells[i]);
    if (heads == 0 || !run.cells[i].description.lossless()) continue;
    const bool is_new = std::none_of(
        cells.begin(), cells.end(), [&](const ExperimentCell& other) {
          return other.target == counted[i].target &&
                 TemperatureOf(other) == TemperatureOf(counted[i]) &&
                 other.method == counted[i].method;
        });
    if (is_new) cells.push_back(HeadsCell(counted[i], heads, task.count.ranks));
  }
  if (cells.empty()) return absl::OkStatus();
  BANYAN_ASSIGN_OR_RETURN(PreparedRun with, Prepared(task, std::move(cells)));
  for (PreparedCell& cell : with.cells) {
    BANYAN_ASSIGN_OR_RETURN(const std::vector<records::PromptRecord> records,
                            DecodeAll(cell, with));
    HeadTable table = CountHeads(cell.description, records);
    if (!table.positions.empty()) costs.heads.push_back(std::move(table));
  }
  return absl::OkStatus();
}

// A table holds for a target in one format and in one amount of memory.
absl::Status CheckTargets(const DrafterTask& task,
                          const std::vector<ModelSpec>& targets) {
  for (std::size_t i = 0; i < targets.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (FolderName(targets[i].directory) ==
              FolderName(targets[j].directory) &&
          targets[i].weights == targets[j].weights &&
          targets[i].memory == targets[j].memory)
        return absl::InvalidArgumentError(absl::StrCat(
            task.file, ": ", targets[j].directory, " and ",
            targets[i].directory,
            " have one name in tables of costs; measure them one by one"));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Costs> MeasureDrafters(const DrafterTask& task) {
  BANYAN_ASSIGN_OR_RETURN(const DrafterPlan plan,
                          PlanDrafters(task.experiment, task.count));
  if (plan.counted.empty())
    return absl::InvalidArgumentError(
        absl::StrCat(task.file, ": no method has a drafter to measure"));
  BANYAN_RETURN_IF_ERROR(CheckTargets(task, plan.times.targets));
  // What is wrong with any cell is told before the first is timed.
  BANYAN_ASSIGN_OR_RETURN(PreparedRun run, Prepared(task, plan.counted));
  AcceptanceCounter counter;
  for (const PreparedCell& cell : run.cells)
    if (const absl::Status alike = counter.Add(cell.description, {});
        !alike.ok())
      return absl::InvalidArgumentError(
          absl::StrCat(task.file, ": ", alike.message()));
  BANYAN_ASSIGN_OR_RETURN(Costs costs,
                          MeasureCosts({.plan = plan.times,
                                        .spec = task.experiment.workload,
                                        .workload = task.workload,
                                        .shelf = task.shelf,
                                        .clock = task.clock,
                                        .timing = task.timing,
                                        .progress = task.measuring}));
  DropSecondLevels(costs.levels);
  std::set<std::string> seen;
  for (std::size_t i = 0; i < run.cells.size(); ++i) {
    task.counting(static_cast<int>(i), static_cast<int>(run.cells.size()));
    const records::Cell& cell = run.cells[i].description;
    if (run.cells[i].setting != i ||
        (cell.trunks_size() == 1 && !seen.insert(DraftsOf(cell)).second))
      continue;
    BANYAN_ASSIGN_OR_RETURN(const std::vector<records::PromptRecord> records,
                            DecodeAll(run.cells[i], run));
    for (const records::PromptRecord& record : records)
      BANYAN_RETURN_IF_ERROR(counter.Add(cell, record));
  }
  costs.acceptance = counter.Tables();
  if (costs.acceptance.empty())
    return absl::InvalidArgumentError(absl::StrCat(
        task.file, ": no lossless method proposed anything on these prompts"));
  BANYAN_RETURN_IF_ERROR(CountAllHeads(task, plan.counted, run, costs));
  return costs;
}

}  // namespace banyan
