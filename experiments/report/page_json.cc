#include "experiments/report/page_json.h"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "configs/loader/writer.h"
#include "experiments/metrics/bootstrap.h"
#include "experiments/metrics/cell_counts.h"
#include "experiments/metrics/metric.h"
#include "experiments/records/machine.h"
#include "experiments/records/record.pb.h"
#include "experiments/records/record_set.h"
#include "experiments/report/answer.h"
#include "experiments/report/cell_text.h"
#include "experiments/report/samples.h"
#include "experiments/report/stated_costs.h"
#include "experiments/report/summary.h"
#include "experiments/report/token_texts.h"
#include "nlohmann/json.hpp"

namespace banyan {
namespace {

using Json = nlohmann::ordered_json;

Json ContextToJson(const RecordSet& set) {
  const records::Context& context = set.files.front().context;
  const records::Build& build = context.build();
  const records::Machine& machine = context.machine();
  const records::Workload& workload = context.workload();
  Json files = Json::array();
  for (const RecordFile& file : set.files) files.push_back(file.path);
  return {{"build",
           {{"revision", build.revision()},
            {"compiler", build.compiler()},
            {"flags", build.flags()},
            {"type", build.type()}}},
          {"machine",
           {{"cpu", machine.cpu()},
            {"device", DeviceOf(machine)},
            {"instruction_set", machine.instruction_set()},
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

Json EstimatesToJson(const Summary& summary,
                     const std::vector<KeyedEstimates>& estimates) {
  Json out = Json::object();
  for (std::size_t i = 0; i < summary.metrics.size(); ++i)
    for (const auto& [key, estimate] : estimates[i]) {
      const auto& interval = estimate.interval;
      out[std::string(summary.metrics[i]->name)][key] = {
          {"value", estimate.value},
          {"low", interval.has_value() ? Json(interval->low) : Json()},
          {"high", interval.has_value() ? Json(interval->high) : Json()}};
    }
  return out;
}

Json TrunksToJson(const records::Cell& cell) {
  Json trunks = Json::array();
  for (const records::Trunk& trunk : cell.trunks())
    trunks.push_back({{"drafter", trunk.drafter()},
                      {"policy", trunk.policy()},
                      {"law", LawName(trunk.law())}});
  return trunks;
}

Json OrNull(const std::string& text) {
  return text.empty() ? Json() : Json(text);
}

// What predictions rest on.
Json CostsToJson(const StatedCosts* costs) {
  if (costs == nullptr) return nullptr;
  return {{"file", costs->file},
          {"name", costs->name},
          {"costs", ToYaml(costs->params)},
          {"sentence", Assumption(*costs)}};
}

Json CellToJson(const Summary& summary, const SummaryRow& row) {
  const records::Cell& cell = *row.cell->cell;
  Json axes = Json::object();
  for (const records::Axis& axis : cell.axes())
    axes[axis.name()] = axis.value();
  Json out = {{"name", row.cell->name},
              {"method", cell.method()},
              {"axes", std::move(axes)},
              {"target", TargetName(cell)},
              {"grown_from", OrNull(cell.target().grown_from())},
              {"lossless", cell.lossless()},
              {"baseline", OrNull(row.cell->baseline)},
              {"verifier", cell.verifier()},
              {"temperature", cell.temperature()},
              {"trunks", TrunksToJson(cell)},
              {"prompts", row.cell->pairs.size()},
              {"metrics", EstimatesToJson(summary, row.values)}};
  if (row.reference != nullptr) {
    out["reference"] = row.reference->name;
    out["differences"] = EstimatesToJson(summary, row.differences);
  }
  return out;
}

}  // namespace

Json ToJson(const RecordSet& set, const Summary& summary, int samples,
            TokenTexts& texts) {
  const records::Context& context = set.files.front().context;
  Json out = {{"question", context.question()},
              {"experiment", context.experiment()},
              {"experiment_hash", context.experiment_hash()},
              {"context", ContextToJson(set)},
              {"warnings", set.warnings},
              {"answer", AnswerToJson(MakeAnswer(set))},
              {"curve", CostsToJson(summary.costs)},
              {"cells", Json::array()},
              {"metrics", Json::array()},
              {"samples", Json::array()}};
  for (const SummaryGroup& group : summary.groups)
    for (const SummaryRow& row : group.rows) {
      out["cells"].push_back(CellToJson(summary, row));
      for (Json& sample : Samples(*row.cell, samples, texts))
        out["samples"].push_back(std::move(sample));
    }
  for (const MetricRow* metric : summary.metrics)
    out["metrics"].push_back({{"name", std::string(metric->name)},
                              {"sentence", std::string(metric->sentence)},
                              {"unit", std::string(metric->unit)}});
  return out;
}

}  // namespace banyan
