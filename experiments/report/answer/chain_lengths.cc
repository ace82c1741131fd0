#include "experiments/report/answer/chain_lengths.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "configs/loader/writer.h"
#include "core/base/counted.h"
#include "core/base/params.h"
#include "experiments/metrics/bootstrap.h"
#include "experiments/metrics/catalogue.h"
#include "experiments/metrics/cell_counts.h"
#include "experiments/metrics/round_figures.h"
#include "experiments/plan/acceptance.h"
#include "experiments/plan/compare.h"
#include "experiments/plan/one_drafter.h"
#include "experiments/records/machine.h"
#include "experiments/records/prompt_pair.h"
#include "experiments/records/record.pb.h"
#include "experiments/records/record_set.h"
#include "experiments/report/cell_text.h"

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

std::string DrafterOf(const records::Cell& cell) {
  const std::string& name = cell.trunks(0).drafter();
  return cell.models_size() >= 1
             ? DrafterLabel(name, FolderName(cell.models(0).directory()))
             : name;
}

// The depth of a node that is the root or on the accepted path.
std::size_t DepthOf(const records::Round& round, int node) {
  if (node == 0) return 0;
  const auto at = std::find(round.path().begin(), round.path().end(), node);
  return static_cast<std::size_t>(at - round.path().begin()) + 1;
}

void CountRound(const records::Round& round, AcceptanceTable& table) {
  ++table.rounds;
  ForReachedLists(round, [&](const records::DrawList& list, int accepted) {
    if (list.tokens_size() == 0) return;
    const std::size_t depth = DepthOf(round, list.node());
    const auto draws = static_cast<std::size_t>(list.tokens_size());
    if (table.reached.size() <= depth) {
      table.reached.resize(depth + 1);
      table.accepted.resize(depth + 1);
    }
    std::vector<std::int64_t>& reached = table.reached[depth];
    if (reached.size() < draws) {
      reached.resize(draws);
      table.accepted[depth].resize(draws);
    }
    for (std::size_t rank = 0; rank < draws; ++rank) ++reached[rank];
    const int hit = accepted < 0 ? -1 : FirstDrawOf(list, accepted);
    if (hit >= 0) ++table.accepted[depth][static_cast<std::size_t>(hit)];
  });
}

// Where a file of drafters comes from.
std::string Source(const records::Context& context) {
  return absl::StrCat(Counted(context.workload().prompts(), "prompt"), " of ",
                      std::filesystem::path(context.workload().path())
                          .lexically_normal()
                          .string(),
                      "; experiment ", context.experiment_hash());
}

}  // namespace

absl::StatusOr<std::vector<AcceptanceTable>> CountAcceptance(
    const RecordSet& set) {
  std::vector<AcceptanceTable> tables;
  std::vector<const records::Cell*> first;  // of each table
  for (const CellRecords& cell : set.cells) {
    if (!cell.cell->lossless() || cell.cell->trunks_size() != 1) continue;
    const AcceptanceKey key = {
        .target = TargetName(*cell.cell),
        .weights = cell.cell->target().weights(),
        .drafter = DrafterOf(*cell.cell),
        .temperature = cell.cell->temperature(),
        .draws = DrawKindName(cell.cell->trunks(0).draws())};
    auto table = std::find_if(
        tables.begin(), tables.end(),
        [&](const AcceptanceTable& other) { return other.key == key; });
    if (table == tables.end()) {
      table = tables.insert(tables.end(), {.key = key});
      first.push_back(cell.cell);
    }
    const records::Cell& other =
        *first[static_cast<std::size_t>(table - tables.begin())];
    if (other.trunks(0).identity() != cell.cell->trunks(0).identity())
      return absl::InvalidArgumentError(absl::StrCat(
          set.files.front().path, ": cells '", other.name(), "' and '",
          cell.cell->name(), "' have drafters called ", key.drafter,
          " with other options or models; count them in runs of their own"));
    for (const PromptPair& pair : cell.pairs)
      for (const records::Round& round : pair.record->rounds())
        CountRound(round, *table);
  }
  tables.erase(std::remove_if(tables.begin(), tables.end(),
                              [](const AcceptanceTable& table) {
                                return table.reached.empty();
                              }),
               tables.end());
  if (tables.empty())
    return absl::InvalidArgumentError(absl::StrCat(
        set.files.front().path,
        ": no draft tokens found in lossless cells with exactly one drafter"));
  return tables;
}

std::string ToYaml(const std::vector<AcceptanceTable>& tables,
                   const RecordSet& set) {
  return absl::StrCat(
      "# Acceptance counts of draft tokens, from `banyan fastest "
      "--acceptance`, on\n# ",
      Source(set.files.front().context),
      ".\n# Row d, column r: at depth d, how often an r-th token was drawn "
      "(reached), and how\n# often it was the accepted one (accepted).\n# An "
      "experiment reads it as `acceptance: !include FILE`.\n",
      ToYaml(tables));
}

absl::StatusOr<std::vector<ChainLength>> FastestChains(const RecordSet& set) {
  // What it gives names no machine, and each may have another fastest length.
  if (set.machines.size() > 1)
    return absl::InvalidArgumentError(absl::StrCat(
        set.machines[0].paths.front(), " and ", set.machines[1].paths.front(),
        ": expected records of one machine, found ", set.machines.size()));
  std::vector<ChainLength> fastest;
  Bootstrap bootstrap;
  for (const CellRecords& cell : set.cells) {
    if (!IsChain(*cell.cell)) continue;
    const KeyedEstimates speed =
        EstimateAll(**FindMetric("speed"), cell.pairs, bootstrap);
    const auto value = speed.find("");
    ChainLength own = {.target = TargetName(*cell.cell),
                       .drafter = DrafterOf(*cell.cell),
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
  if (fastest.empty())
    return absl::InvalidArgumentError(
        absl::StrCat(set.files.front().path,
                     ": no lossless cell is the chain of one drafter"));
  return fastest;
}

std::string ToYaml(const std::vector<ChainLength>& lengths,
                   const RecordSet& set) {
  const records::Context& context = set.files.front().context;
  std::vector<Params> items;
  for (const ChainLength& length : lengths)
    items.push_back(Params::Map(
        {{"target", {}, Params::Scalar(length.target)},
         {"drafter", {}, Params::Scalar(length.drafter)},
         {"temperature", {}, Params::Scalar(absl::StrCat(length.temperature))},
         {"length", {}, Params::Scalar(absl::StrCat(length.length))},
         {"speed",
          {},
          Params::Scalar(absl::StrFormat("%.3f", length.speed))}}));
  return absl::StrCat(
      "# The fastest chain of each drafter (banyan fastest), by speedup over "
      "plain decoding, on\n# ",
      ProcessorOf(context.machine()), ", ",
      Counted(context.machine().threads(), "thread"), ", and ", Source(context),
      ".\n# An experiment reads it as `compare: {chains: !include FILE}`.\n",
      ToYaml(Params::List(std::move(items))));
}

}  // namespace banyan
