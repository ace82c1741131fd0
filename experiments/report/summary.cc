#include "experiments/report/summary.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>

#include "core/base/messages.h"
#include "experiments/metrics/catalogue.h"
#include "experiments/records/record.pb.h"
#include "experiments/report/table.h"

namespace banyan {

namespace {

// What every cell has beside its axes.
constexpr absl::string_view kProperties[] = {"method", "target", "verifier",
                                             "temperature"};

std::string Property(const records::Cell& cell, const std::string& name) {
  if (name == "method") return cell.method();
  if (name == "target") return TargetName(cell);
  if (name == "verifier") return cell.verifier();
  if (name == "temperature") return absl::StrCat(cell.temperature());
  return "";
}

std::vector<std::string> Axes(const RecordSet& set) {
  std::vector<std::string> axes;
  for (const CellRecords& cell : set.cells)
    for (const records::Axis& axis : cell.cell->axes())
      if (std::find(axes.begin(), axes.end(), axis.name()) == axes.end())
        axes.push_back(axis.name());
  return axes;
}

absl::StatusOr<std::vector<const MetricRow*>> Metrics(
    const SummaryOptions& options) {
  std::vector<const MetricRow*> metrics;
  for (const std::string& name : options.metrics) {
    BANYAN_ASSIGN_OR_RETURN(const MetricRow* metric, FindMetric(name));
    if (metric->by_curve && options.costs == nullptr)
      return absl::InvalidArgumentError(
          absl::StrCat("--metrics: ", name, " needs --curve FILE"));
    metrics.push_back(metric);
  }
  if (options.metrics.empty())
    for (const MetricRow& metric : MetricCatalogue())
      metrics.push_back(&metric);
  return metrics;
}

std::string GroupTitle(const records::Cell& cell,
                       const std::vector<std::string>& axes) {
  return absl::StrJoin(
      axes, ", ", [&cell](std::string* out, const std::string& axis) {
        const std::string value = AxisValue(cell, axis);
        absl::StrAppend(out, axis, " ", value.empty() ? "-" : value);
      });
}

// Groups in the order of their first cells.
std::vector<SummaryGroup> GroupCells(const RecordSet& set,
                                     const std::vector<std::string>& axes) {
  std::vector<SummaryGroup> groups;
  for (const CellRecords& cell : set.cells) {
    const std::string title = GroupTitle(*cell.cell, axes);
    auto group = std::find_if(
        groups.begin(), groups.end(),
        [&title](const SummaryGroup& other) { return other.title == title; });
    if (group == groups.end())
      group = groups.insert(groups.end(), SummaryGroup{.title = title});
    group->rows.push_back({.cell = &cell});
  }
  return groups;
}

absl::Status UnknownReference(const RecordSet& set, const std::string& name) {
  std::vector<absl::string_view> known;
  for (const CellRecords& cell : set.cells) known.push_back(cell.name);
  return absl::InvalidArgumentError(
      absl::StrCat("--reference: ", UnknownName("cell", name, known)));
}

// The cell of the group whose method is `name`.
absl::StatusOr<const CellRecords*> MethodOf(const SummaryGroup& group,
                                            const std::string& name) {
  const CellRecords* found = nullptr;
  for (const SummaryRow& row : group.rows) {
    if (row.cell->cell->method() != name) continue;
    if (found != nullptr)
      return absl::InvalidArgumentError(absl::StrCat(
          "--reference: '", found->name, "' and '", row.cell->name,
          "' are both cells of method '", name, "' in one group (", group.title,
          "); name a cell, or group by what they differ in"));
    found = row.cell;
  }
  return found;
}

// The cell's baseline, if that is of this method.
const CellRecords* BaselineOf(const RecordSet& set, const CellRecords& cell,
                              const std::string& method) {
  const CellRecords* const baseline = set.Find(cell.baseline);
  return baseline != nullptr && baseline->cell->method() == method ? baseline
                                                                   : nullptr;
}

std::set<std::size_t> MachinesOf(const CellRecords& cell) {
  std::set<std::size_t> machines;
  for (const PromptPair& pair : cell.pairs) machines.insert(pair.machine);
  return machines;
}

// Times of two machines are not held against each other.
absl::Status CheckMachines(const RecordSet& set, const CellRecords& cell,
                           const CellRecords& reference) {
  const std::set<std::size_t> own = MachinesOf(cell);
  const std::set<std::size_t> others = MachinesOf(reference);
  if (own.empty() || others.empty() || own == others) return absl::OkStatus();
  const auto label = [&set](const std::set<std::size_t>& machines) {
    return set.machines[*machines.begin()].label;
  };
  return absl::InvalidArgumentError(absl::StrCat(
      "--reference: '", reference.name, "' was recorded on machine ",
      label(others), " and '", cell.name, "' on machine ", label(own),
      ", whose times are not alike: expected a cell of the same machine"));
}

absl::Status ChooseReferences(const RecordSet& set, const std::string& name,
                              Summary& summary) {
  if (name.empty()) return absl::OkStatus();
  const CellRecords* const cell = set.Find(name);
  bool found = cell != nullptr;
  for (SummaryGroup& group : summary.groups) {
    const CellRecords* reference = cell;
    if (cell == nullptr) {
      BANYAN_ASSIGN_OR_RETURN(reference, MethodOf(group, name));
    }
    for (SummaryRow& row : group.rows) {
      row.reference = reference;
      // Of cells that were split: the one of this name that was split alike.
      if (row.reference == nullptr)
        row.reference = set.Find(name + row.cell->split);
      // Groups of what a baseline does not depend on share one, and only one
      // of them has it.
      if (row.reference == nullptr)
        row.reference = BaselineOf(set, *row.cell, name);
      found = found || row.reference != nullptr;
      if (row.reference == row.cell) row.reference = nullptr;
      if (row.reference != nullptr)
        BANYAN_RETURN_IF_ERROR(CheckMachines(set, *row.cell, *row.reference));
    }
  }
  return found ? absl::OkStatus() : UnknownReference(set, name);
}

// On how many prompts a token took less time than the reference's.
SignTest FasterPrompts(absl::Span<const PromptPair> own,
                       absl::Span<const PromptPair> reference) {
  const MetricRow& metric = **FindMetric("ms_per_token");
  const CommonParts parts = CountCommon(metric, reference, own);
  const auto more = parts.a.find("");
  const auto less = parts.b.find("");
  if (more == parts.a.end() || less == parts.b.end()) return {};
  return CompareSigns(metric.form, more->second, less->second);
}

void FillRow(const std::vector<const MetricRow*>& metrics, SummaryRow& row) {
  if (row.reference != nullptr)
    row.signs = FasterPrompts(row.cell->pairs, row.reference->pairs);
  for (const MetricRow* metric : metrics) {
    row.values.push_back(EstimateAll(*metric, row.cell->pairs));
    row.differences.emplace_back();
    if (row.reference != nullptr)
      row.differences.back() =
          EstimateDifferences(*metric, row.cell->pairs, row.reference->pairs);
  }
}

}  // namespace

std::string AxisValue(const records::Cell& cell, const std::string& axis) {
  for (const records::Axis& own : cell.axes())
    if (own.name() == axis) return own.value();
  return Property(cell, axis);
}

absl::Status CheckAxes(const std::string& option,
                       const std::vector<std::string>& names,
                       const Summary& summary) {
  std::vector<absl::string_view> known(summary.axes.begin(),
                                       summary.axes.end());
  known.insert(known.end(), std::begin(kProperties), std::end(kProperties));
  known.insert(known.end(), {"kind", "machine"});  // where cells are split
  for (const std::string& name : names)
    if (std::find(known.begin(), known.end(), name) == known.end())
      return absl::InvalidArgumentError(
          absl::StrCat(option, ": ", UnknownName("axis", name, known)));
  return absl::OkStatus();
}

absl::StatusOr<Summary> Summarise(const RecordSet& set,
                                  const SummaryOptions& options) {
  Summary summary = {.axes = Axes(set), .costs = options.costs};
  BANYAN_ASSIGN_OR_RETURN(summary.metrics, Metrics(options));
  BANYAN_RETURN_IF_ERROR(CheckAxes("--group", options.group, summary));
  summary.groups = GroupCells(set, options.group);
  BANYAN_RETURN_IF_ERROR(ChooseReferences(set, options.reference, summary));
  for (SummaryGroup& group : summary.groups)
    for (SummaryRow& row : group.rows) FillRow(summary.metrics, row);
  return summary;
}

int PromptsOf(const SummaryRow& row) {
  int prompts = 0;
  for (const KeyedEstimates& estimates : row.values)
    for (const auto& [key, estimate] : estimates)
      prompts = std::max(prompts, estimate.prompts);
  return prompts > 0 ? prompts : static_cast<int>(row.cell->pairs.size());
}

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
constexpr absl::string_view kPropertyColumns[] = {"method", "target",
                                                  "temperature", "lossless"};

std::vector<std::string> PropertiesOf(const records::Cell& cell) {
  return {cell.method(), TargetName(cell), ExactNumber(cell.temperature()),
          cell.lossless() ? "true" : "false"};
}

// An axis may be called as a property is, and need not be that.
std::string AxisColumn(const std::string& axis) {
  for (const absl::string_view property : kPropertyColumns)
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
  for (const absl::string_view property : kPropertyColumns)
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
