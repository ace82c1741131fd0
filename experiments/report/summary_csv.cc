#include "experiments/report/summary_csv.h"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "experiments/metrics/cell_counts.h"
#include "experiments/metrics/estimate.h"
#include "experiments/records/cell_names.h"
#include "experiments/records/record.pb.h"
#include "experiments/report/csv.h"
#include "experiments/report/numbers.h"
#include "experiments/report/summary.h"

namespace banyan {
namespace {

bool HasReference(const Summary& summary) {
  for (const SummaryGroup& group : summary.groups)
    for (const SummaryRow& row : group.rows)
      if (row.reference != nullptr) return true;
  return false;
}

std::string NumberLine(const std::vector<std::string>& begin,
                       const std::string& key, const Estimate& estimate,
                       const KeyedEstimates* differences) {
  std::vector<std::string> fields = begin;
  fields.push_back(key);
  AddEstimate(estimate, fields);
  fields.push_back(absl::StrCat(estimate.prompts));
  if (differences == nullptr) return CsvLine(fields);
  const auto difference = differences->find(key);
  if (difference == differences->end())
    fields.insert(fields.end(), 3, "");
  else
    AddEstimate(difference->second, fields);
  return CsvLine(fields);
}

// What every cell has, beside its name. Programs join records of several
// experiments by them, whatever axes these have.
constexpr absl::string_view kProperties[] = {"method", "target", "temperature",
                                             "lossless"};

std::vector<std::string> PropertiesOf(const records::Cell& cell) {
  return {cell.method(), TargetName(cell), ExactNumber(cell.temperature()),
          cell.lossless() ? "true" : "false"};
}

// An axis may be called as a property is, and need not be that.
std::string AxisColumn(const std::string& axis) {
  for (const absl::string_view property : kProperties)
    if (axis == property) return absl::StrCat("matrix.", axis);
  return axis;
}

std::string RowLines(const Summary& summary, const SummaryRow& row,
                     bool has_reference) {
  std::string lines;
  const records::Cell& cell = *row.cell->cell;
  std::vector<std::string> begin = {row.cell->name};
  for (std::string& property : PropertiesOf(cell))
    begin.push_back(std::move(property));
  for (const std::string& axis : summary.axes)
    begin.push_back(AxisValue(cell, axis));
  begin.emplace_back();
  for (std::size_t i = 0; i < summary.metrics.size(); ++i) {
    begin.back() = std::string(summary.metrics[i]->name);
    for (const auto& [key, estimate] : row.values[i])
      lines += NumberLine(begin, key, estimate,
                          has_reference ? &row.differences[i] : nullptr);
  }
  return lines;
}

}  // namespace

std::string ToCsv(const Summary& summary) {
  const bool has_reference = HasReference(summary);
  std::vector<std::string> header = {"cell"};
  for (const absl::string_view property : kProperties)
    header.emplace_back(property);
  for (const std::string& axis : summary.axes)
    header.push_back(AxisColumn(axis));
  for (const char* name : {"metric", "key", "value", "low", "high", "prompts"})
    header.emplace_back(name);
  if (has_reference)
    for (const char* name : {"difference", "difference_low", "difference_high"})
      header.emplace_back(name);
  std::string csv = CsvLine(header);
  for (const SummaryGroup& group : summary.groups)
    for (const SummaryRow& row : group.rows)
      csv += RowLines(summary, row, has_reference);
  return csv;
}

}  // namespace banyan
