#include "experiments/report/cross_table.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "core/base/status_macros.h"
#include "experiments/metrics/cell_counts.h"
#include "experiments/metrics/estimate.h"
#include "experiments/metrics/metric.h"
#include "experiments/records/record.pb.h"
#include "experiments/report/cell_text.h"
#include "experiments/report/numbers.h"
#include "experiments/report/summary.h"
#include "experiments/report/table.h"

namespace banyan {
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

std::string Text(const SummaryRow& row, const MetricRow& metric,
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
            found == nullptr ? "" : Text(*found, *summary.metrics[i], i));
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
