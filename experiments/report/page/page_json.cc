#include "experiments/report/page/page_json.h"

#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "configs/loader/writer.h"
#include "core/json/json_value.h"
#include "experiments/metrics/cell_counts.h"
#include "experiments/metrics/estimate.h"
#include "experiments/metrics/metric.h"
#include "experiments/records/cell_names.h"
#include "experiments/records/machine.h"
#include "experiments/records/record.pb.h"
#include "experiments/records/record_set.h"
#include "experiments/report/answer/answer.h"
#include "experiments/report/estimate_json.h"
#include "experiments/report/figures/figures.h"
#include "experiments/report/page/samples.h"
#include "experiments/report/page/token_texts.h"
#include "experiments/report/stated_costs.h"
#include "experiments/report/summary.h"

namespace banyan {
namespace {

JsonValue ContextToJson(const RecordSet& set) {
  const records::Context& context = set.files.front().context;
  const records::Build& build = context.build();
  const records::Machine& machine = context.machine();
  const records::Workload& workload = context.workload();
  JsonValue files = JsonValue::List();
  for (const RecordFile& file : set.files) files.Add(file.path);
  return {{"build",
           {{"revision", build.revision()},
            {"compiler", build.compiler()},
            {"flags", build.flags()},
            {"type", build.type()}}},
          {"machine",
           {{"cpu", machine.cpu()},
            {"device", DeviceOf(machine)},
            {"gpu",
             machine.has_gpu() ? JsonValue(ProcessorOf(machine)) : JsonValue()},
            {"instruction_set", InstructionSetName(machine.instruction_set())},
            {"cores", machine.cores()},
            {"threads", machine.threads()},
            {"bytes_per_s", machine.bytes_per_s()},
            {"load", machine.load()}}},
          {"started",
           absl::FormatTime(absl::RFC3339_sec,
                            absl::FromUnixSeconds(context.started_unix_s()),
                            absl::UTCTimeZone())},
          {"workload",
           {{"path", workload.path()},
            {"hash", workload.hash()},
            {"prompts", workload.prompts()}}},
          {"files", std::move(files)}};
}

JsonValue EstimatesToJson(const Summary& summary,
                          const std::vector<KeyedEstimates>& estimates) {
  JsonValue out = JsonValue::Object();
  for (std::size_t i = 0; i < summary.metrics.size(); ++i)
    for (const auto& [key, estimate] : estimates[i]) {
      JsonValue& number = out[std::string(summary.metrics[i]->name)][key];
      number = EstimateToJson(estimate);
      number["prompts"] = estimate.prompts;
    }
  return out;
}

// Of the drafters of some tokens only.
JsonValue DraftedToJson(const records::Trunk& trunk) {
  JsonValue all = JsonValue::List();
  for (const records::DraftedTokens& drafted : trunk.drafted())
    if (!drafted.file().empty())
      all.Add({{"model", drafted.model()},
               {"file", drafted.file()},
               {"tokens", drafted.tokens()}});
  return all;
}

JsonValue TrunksToJson(const records::Cell& cell) {
  JsonValue trunks = JsonValue::List();
  for (const records::Trunk& trunk : cell.trunks())
    trunks.Add({{"drafter", trunk.drafter()},
                {"policy", trunk.policy()},
                {"draws", DrawKindName(trunk.draws())},
                {"vocabularies", DraftedToJson(trunk)}});
  return trunks;
}

// What predictions rest on.
JsonValue CostsToJson(const StatedCosts* costs) {
  if (costs == nullptr) return nullptr;
  return {{"file", costs->file},
          {"name", costs->name},
          {"costs", ToYaml(costs->params)},
          {"sentence", Assumption(*costs)}};
}

// The cells that others are compared with, as chains of their drafters.
std::set<const CellRecords*> Opponents(const RecordSet& set) {
  std::set<const CellRecords*> opponents;
  for (const CellRecords& cell : set.cells)
    for (const records::Opponent& opponent : cell.cell->opponents())
      opponents.insert(set.Find(cell, opponent.cell()));
  return opponents;
}

JsonValue CellToJson(const Summary& summary, const SummaryRow& row,
                     bool is_opponent) {
  const records::Cell& cell = *row.cell->cell;
  JsonValue axes = JsonValue::Object();
  for (const records::Axis& axis : cell.axes())
    axes[axis.name()] = axis.value();
  JsonValue out = {{"name", row.cell->name},
                   {"method", cell.method()},
                   {"axes", std::move(axes)},
                   {"target", TargetName(cell)},
                   {"grown_from", NullIfEmpty(cell.target().grown_from())},
                   {"lossless", cell.lossless()},
                   {"refuted", cell.evidence() == records::REFUTED},
                   {"baseline", NullIfEmpty(row.cell->baseline)},
                   {"opponent", is_opponent},
                   {"tree", IsTree(cell)},
                   {"verifier", cell.verifier()},
                   {"temperature", cell.temperature()},
                   {"trunks", TrunksToJson(cell)},
                   {"prompts", PromptsOf(row)},
                   {"metrics", EstimatesToJson(summary, row.values)}};
  if (row.reference != nullptr) {
    out["reference"] = row.reference->name;
    out["differences"] = EstimatesToJson(summary, row.differences);
  }
  return out;
}

}  // namespace

JsonValue ToJson(const RecordSet& set, const Summary& summary,
                 const PageOptions& options, TokenTexts& texts) {
  const records::Context& context = set.files.front().context;
  JsonValue out = {{"question", context.question()},
                   {"experiment", context.experiment()},
                   {"experiment_hash", context.experiment_hash()},
                   {"context", ContextToJson(set)},
                   {"warnings", set.warnings},
                   {"answer", AnswerToJson(MakeAnswer(set))},
                   {"curve", CostsToJson(summary.costs)},
                   {"cells", JsonValue::List()},
                   {"metrics", JsonValue::List()},
                   {"samples", JsonValue::List()},
                   {"figures", ToJson(MakeFigures(summary, options.series))}};
  const std::set<const CellRecords*> opponents = Opponents(set);
  for (const SummaryGroup& group : summary.groups)
    for (const SummaryRow& row : group.rows) {
      out["cells"].Add(CellToJson(summary, row, opponents.count(row.cell) > 0));
      for (JsonValue& sample : Samples(*row.cell, options.samples, texts))
        out["samples"].Add(std::move(sample));
    }
  for (const MetricRow* metric : summary.metrics)
    out["metrics"].Add({{"name", std::string(metric->name)},
                        {"sentence", std::string(metric->sentence)},
                        {"unit", std::string(metric->unit)}});
  return out;
}

}  // namespace banyan
