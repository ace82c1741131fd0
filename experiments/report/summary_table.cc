#include "experiments/report/summary_table.h"

#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "experiments/metrics/catalogue.h"
#include "experiments/metrics/cell_counts.h"
#include "experiments/metrics/estimate.h"
#include "experiments/metrics/metric.h"
#include "experiments/report/cell_text.h"
#include "experiments/report/numbers.h"
#include "experiments/report/stated_costs.h"
#include "experiments/report/summary.h"
#include "experiments/report/table.h"

namespace banyan {
namespace {

// One number of one metric.
struct Column {
  std::size_t metric = 0;  // in the summary
  std::string key;
  bool interval = false;
  bool difference = false;
};

const KeyedEstimates& Estimates(const SummaryRow& row, const Column& column) {
  return column.difference ? row.differences[column.metric]
                           : row.values[column.metric];
}

// The keys that any cell has, in their order.
std::set<std::string, KeyLess> Keys(const Summary& summary,
                                    const Column& column) {
  std::set<std::string, KeyLess> keys;
  for (const SummaryGroup& group : summary.groups)
    for (const SummaryRow& row : group.rows)
      for (const auto& [key, estimate] : Estimates(row, column))
        keys.insert(key);
  return keys;
}

// Whether the default table, which is wide enough, gives intervals of it.
bool ShowsInterval(const MetricRow& metric) {
  return metric.name == "speed" || metric.by_curve;
}

// And differences.
bool ShowsDifference(const MetricRow& metric) {
  return metric.name == "tokens_per_pass" || metric.name == "ms_per_token" ||
         ShowsInterval(metric);
}

std::vector<Column> Columns(const Summary& summary, Detail detail) {
  std::vector<Column> columns;
  for (const bool difference : {false, true})
    for (std::size_t i = 0; i < summary.metrics.size(); ++i) {
      if (difference && detail == Detail::kBrief &&
          !ShowsDifference(*summary.metrics[i]))
        continue;
      Column column = {.metric = i, .difference = difference};
      column.interval = difference || detail == Detail::kFull ||
                        ShowsInterval(*summary.metrics[i]);
      for (const std::string& key : Keys(summary, column)) {
        column.key = key;
        columns.push_back(column);
      }
    }
  return columns;
}

std::string Title(const MetricRow& metric, const Column& column) {
  return absl::StrCat(column.difference ? "difference in " : "",
                      absl::StrReplaceAll(metric.name, {{"_", " "}}),
                      column.key.empty() ? "" : ": ", column.key);
}

std::string Text(const MetricRow& metric, const Column& column,
                 const SummaryRow& row) {
  const KeyedEstimates& estimates = Estimates(row, column);
  const auto found = estimates.find(column.key);
  if (found == estimates.end()) return "-";
  const Estimate& estimate = found->second;
  std::string text = column.difference
                         ? ShortDifference(estimate.value, metric.form)
                         : ShortNumber(estimate.value, metric.form);
  if (column.interval && estimate.interval.has_value())
    absl::StrAppend(&text, " ", ShortInterval(estimate, metric.form));
  return text;
}

bool HasSigns(const Summary& summary) {
  for (const SummaryGroup& group : summary.groups)
    for (const SummaryRow& row : group.rows)
      if (row.signs.has_value()) return true;
  return false;
}

std::string SignsText(const SummaryRow& row) {
  if (!row.signs.has_value()) return "-";
  return absl::StrFormat("%d of %d, p %.2g", row.signs->more,
                         row.signs->more + row.signs->less, row.signs->p);
}

std::vector<std::string> Texts(const Summary& summary,
                               const std::vector<Column>& columns,
                               const SummaryRow& row) {
  std::vector<std::string> texts = {row.cell->name, Marks(*row.cell->cell),
                                    absl::StrCat(PromptsOf(row))};
  for (const Column& column : columns)
    texts.push_back(Text(*summary.metrics[column.metric], column, row));
  if (HasSigns(summary)) texts.push_back(SignsText(row));
  return texts;
}

// What the table as it is needs explained.
std::vector<std::string> Notes(const Summary& summary,
                               const std::vector<Column>& columns) {
  bool interval = false;
  bool by_curve = false;
  for (const Column& column : columns) {
    interval = interval || column.interval;
    by_curve = by_curve || summary.metrics[column.metric]->by_curve;
  }
  bool refuted = false;
  bool lossy = false;
  bool warm = false;
  bool grown = false;
  bool old_cost = false;
  std::set<std::string> references;
  for (const SummaryGroup& group : summary.groups)
    for (const SummaryRow& row : group.rows) {
      const bool is_refuted = row.cell->cell->evidence() == records::REFUTED;
      refuted = refuted || is_refuted;
      lossy = lossy || (!row.cell->cell->lossless() && !is_refuted);
      warm = warm || IsWarm(*row.cell->cell);
      grown = grown || !row.cell->cell->target().grown_from().empty();
      for (const records::Model& model : row.cell->cell->models())
        old_cost = old_cost || model.old_cost();
      if (row.reference != nullptr) references.insert(row.reference->name);
    }
  std::vector<std::string> notes;
  if (interval)
    notes.emplace_back(
        "[low, high]: 95 % intervals over prompts (a chat or a "
        "batch is one), paired.");
  if (HasSigns(summary))
    notes.emplace_back(
        "p: sign test over prompts, two-sided, of milliseconds a token.");
  if (by_curve) notes.push_back(Assumption(*summary.costs));
  for (const std::string& name : references)
    notes.push_back(absl::StrCat("Differences are to ", name, "."));
  if (lossy)
    notes.emplace_back(
        "LOSSY: the output does not follow the target's distribution.");
  if (refuted)
    notes.emplace_back(
        "NOT LOSSLESS: claims to be, but texts at temperature 0 differ from "
        "plain decoding's.");
  if (warm)
    notes.emplace_back(
        "warm: what its drafters learnt from the prompts before is there at "
        "each, in the workload's order.");
  if (grown)
    notes.emplace_back(
        "grown (NAME): computes what NAME computes, at the cost of its size.");
  if (old_cost)
    notes.emplace_back(
        "at the cost of NAME: heads that stayed at the sizes they were trained "
        "at; those trained for a target of that size take longer.");
  return notes;
}

}  // namespace

std::vector<std::string> DefaultMetrics(const StatedCosts* costs) {
  std::vector<std::string> names = {"tokens_per_pass", "accepted_per_pass",
                                    "alpha", "speed"};
  if (costs != nullptr) names.emplace_back(kPredictedByCurve);
  names.insert(names.end(), {"predicted_speed", "ms_per_token"});
  return names;
}

Table MakeTable(const Summary& summary, Detail detail) {
  const std::vector<Column> columns = Columns(summary, detail);
  Table table = {.header = {"cell", "", "prompts"}, .text_columns = 2};
  for (const Column& column : columns)
    table.header.push_back(Title(*summary.metrics[column.metric], column));
  if (HasSigns(summary)) table.header.emplace_back("prompts faster");
  for (const SummaryGroup& group : summary.groups) {
    Table::Section section = {.title = group.title};
    for (const SummaryRow& row : group.rows)
      section.rows.push_back(Texts(summary, columns, row));
    table.sections.push_back(std::move(section));
  }
  table.notes = Notes(summary, columns);
  return table;
}

}  // namespace banyan
