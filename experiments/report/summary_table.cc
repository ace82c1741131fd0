#include "experiments/report/summary_table.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_replace.h"
#include "core/base/common.h"
#include "experiments/metrics/catalogue.h"
#include "experiments/metrics/estimate.h"
#include "experiments/metrics/metric.h"

namespace banyan {

bool IsWarm(const records::Cell& cell) {
  return std::any_of(
      cell.trunks().begin(), cell.trunks().end(),
      [](const records::Trunk& trunk) { return trunk.carries_state(); });
}

std::string Marks(const records::Cell& cell) {
  std::vector<std::string> marks;
  if (cell.evidence() == records::REFUTED)
    marks.push_back("NOT LOSSLESS");
  else if (!cell.lossless())
    marks.push_back("LOSSY");
  if (IsWarm(cell)) marks.push_back("warm");
  if (!cell.target().grown_from().empty())
    marks.push_back(absl::StrCat("grown (", cell.target().grown_from(), ")"));
  if (cell.target().disk_bytes() > 0)
    marks.push_back(
        absl::StrFormat("%.0f MB per pass from disk",
                        static_cast<double>(cell.target().disk_bytes()) / 1e6));
  for (const records::Model& model : cell.models())
    if (model.old_cost())
      marks.push_back(
          absl::StrCat(model.name(), " at the cost of ", model.grown_from()));
  return absl::StrJoin(marks, ", ");
}

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
std::set<std::string, KeyLess> KeysOf(const Summary& summary,
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

std::vector<Column> ColumnsOf(const Summary& summary, Detail detail) {
  std::vector<Column> columns;
  for (const bool difference : {false, true})
    for (std::size_t i = 0; i < summary.metrics.size(); ++i) {
      if (difference && detail == Detail::kBrief &&
          !ShowsDifference(*summary.metrics[i]))
        continue;
      Column column = {.metric = i, .difference = difference};
      column.interval = difference || detail == Detail::kFull ||
                        ShowsInterval(*summary.metrics[i]);
      for (const std::string& key : KeysOf(summary, column)) {
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
  const std::vector<Column> columns = ColumnsOf(summary, detail);
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

namespace {

// The cells of a group by their values on both axes.
using Slots = std::map<std::pair<std::string, std::string>, const SummaryRow*>;

// Plain decoding, which has no value on most axes, has a place of its own.
std::string ValueOf(const SummaryRow& row, const std::string& axis) {
  const records::Cell& cell = *row.cell->cell;
  const std::string value = AxisValue(cell, axis);
  if (!value.empty()) return value;
  return cell.trunks_size() == 0 ? cell.method() : "-";
}

// Values in the order of the cells.
std::vector<std::string> Values(const Summary& summary,
                                const std::string& axis) {
  std::vector<std::string> values;
  for (const SummaryGroup& group : summary.groups)
    for (const SummaryRow& row : group.rows) {
      std::string value = ValueOf(row, axis);
      if (std::find(values.begin(), values.end(), value) == values.end())
        values.push_back(std::move(value));
    }
  return values;
}

absl::StatusOr<Slots> SlotsOf(const SummaryGroup& group,
                              const CrossAxes& axes) {
  Slots slots;
  for (const SummaryRow& row : group.rows) {
    const auto place =
        std::make_pair(ValueOf(row, axes.rows), ValueOf(row, axes.columns));
    const auto [at, is_new] = slots.emplace(place, &row);
    if (!is_new)
      return absl::InvalidArgumentError(
          absl::StrCat("--rows ", axes.rows, " --columns ", axes.columns, ": '",
                       at->second->cell->name, "' and '", row.cell->name,
                       "' both are at ", place.first, ", ", place.second,
                       "; group (--group) by what they differ in"));
  }
  return slots;
}

const Estimate* NumberOf(const SummaryRow& row, std::size_t metric) {
  const auto found = row.values[metric].find("");
  return found == row.values[metric].end() ? nullptr : &found->second;
}

// The place whose number is the best lossless one; their count if none is.
std::size_t Best(const std::vector<const SummaryRow*>& places,
                 const MetricRow& metric, std::size_t number) {
  const bool smallest = metric.unit == "ms";
  std::size_t best = places.size();
  double value = 0;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (places[i] == nullptr || !places[i]->cell->cell->lossless()) continue;
    const Estimate* found = NumberOf(*places[i], number);
    if (found == nullptr) continue;
    if (best < places.size() &&
        (smallest ? found->value >= value : found->value <= value))
      continue;
    best = i;
    value = found->value;
  }
  return best;
}

std::string CrossText(const SummaryRow& row, const MetricRow& metric,
                      std::size_t number) {
  const Estimate* found = NumberOf(row, number);
  if (found == nullptr) return "-";
  std::string text = ShortNumber(found->value, metric.form);
  if (found->interval.has_value())
    absl::StrAppend(&text, " ", ShortInterval(*found, metric.form));
  const std::string marks = Marks(*row.cell->cell);
  return marks.empty() ? text : absl::StrCat(text, " ", marks);
}

Table::Section SectionOf(const Summary& summary, const SummaryGroup& group,
                         const Slots& slots,
                         const std::vector<std::string>& rows,
                         const std::vector<std::string>& columns,
                         bool best_of_row) {
  const auto at = [&](const std::string& row, const std::string& column) {
    const auto slot = slots.find({row, column});
    return slot == slots.end() ? nullptr : slot->second;
  };
  Table::Section section = {.title = group.title};
  const std::size_t metrics = summary.metrics.size();
  for (const std::string& row : rows) {
    section.rows.push_back({row});
    for (const std::string& column : columns)
      for (std::size_t i = 0; i < metrics; ++i) {
        const SummaryRow* found = at(row, column);
        section.rows.back().push_back(
            found == nullptr ? "" : CrossText(*found, *summary.metrics[i], i));
      }
  }
  const auto& lines = best_of_row ? rows : columns;
  const auto& along = best_of_row ? columns : rows;
  for (std::size_t line = 0; line < lines.size(); ++line)
    for (std::size_t i = 0; i < metrics; ++i) {
      std::vector<const SummaryRow*> places;
      for (const std::string& place : along)
        places.push_back(best_of_row ? at(lines[line], place)
                                     : at(place, lines[line]));
      const std::size_t best = Best(places, *summary.metrics[i], i);
      if (best == places.size()) continue;
      const std::size_t row = best_of_row ? line : best;
      const std::size_t column = best_of_row ? best : line;
      section.bold.insert({row, 1 + column * metrics + i});
    }
  return section;
}

}  // namespace

absl::StatusOr<Table> MakeCrossTable(const Summary& summary,
                                     const CrossAxes& axes) {
  BANYAN_RETURN_IF_ERROR(CheckAxes("--rows", {axes.rows}, summary));
  BANYAN_RETURN_IF_ERROR(CheckAxes("--columns", {axes.columns}, summary));
  const std::vector<std::string> rows = Values(summary, axes.rows);
  const std::vector<std::string> columns = Values(summary, axes.columns);
  Table table = {.header = {axes.rows}, .above = {""}};
  for (const std::string& column : columns)
    for (const MetricRow* metric : summary.metrics) {
      table.above.push_back(absl::StrCat(axes.columns, " ", column));
      table.header.push_back(absl::StrReplaceAll(metric->name, {{"_", " "}}));
    }
  for (const SummaryGroup& group : summary.groups) {
    BANYAN_ASSIGN_OR_RETURN(const Slots slots, SlotsOf(group, axes));
    table.sections.push_back(
        SectionOf(summary, group, slots, rows, columns, axes.best_of_row));
  }
  table.notes = {
      "[low, high]: 95 % intervals over prompts (a chat or a batch "
      "is one), paired.",
      absl::StrCat("Bold or *: the best lossless number of a ",
                   axes.best_of_row ? "row." : "column.")};
  return table;
}

}  // namespace banyan
