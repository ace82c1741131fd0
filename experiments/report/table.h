// Tables as text, Markdown, LaTeX and CSV, and numbers as tables, CSV and JSON
// have them.
#ifndef BANYAN_EXPERIMENTS_REPORT_TABLE_H_
#define BANYAN_EXPERIMENTS_REPORT_TABLE_H_

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/json/json_value.h"
#include "experiments/metrics/estimate.h"
#include "experiments/metrics/metric.h"

namespace banyan {

// Tables as text, Markdown and LaTeX.

// Of what is printed to a terminal.
inline constexpr int kTableColumns = 100;

// Plain data; texts are any UTF-8. Every row has as many texts as the header.
struct Table {
  struct Section {
    std::string title;  // empty: none
    std::vector<std::vector<std::string>> rows;
    std::set<std::pair<std::size_t, std::size_t>> bold;  // row and column
  };

  std::vector<std::string> header;
  // Empty, or a head above each column's; one that stands beside its like is
  // one head over both. LaTeX has two lines of heads, others "above: head".
  std::vector<std::string> above;
  std::size_t text_columns = 1;  // the first ones, aligned left; others right
  std::vector<Section> sections;
  std::vector<std::string> warnings;  // sentences above
  std::vector<std::string> notes;     // sentences below
};

// Columns as wide as their widest text; "*" marks bold texts. A table that
// would take more than kTableColumns has heads of several lines, and below each
// other as many parts as it needs, each with the first column, whose texts then
// take several lines too. Sentences are wrapped.
std::string ToText(const Table& table);
// Pipe tables, one a section, titles as headings.
std::string ToMarkdown(const Table& table);
// A tabular of the package booktabs, followed by the notes as comments.
std::string ToLatex(const Table& table);

// Numbers as tables and files write them.

// With three or four digits that count; a total as a whole number.
std::string ShortNumber(double value, Form form);
// The same with its sign.
std::string ShortDifference(double value, Form form);
// "[low, high]"; empty without an interval.
std::string ShortInterval(const Estimate& estimate, Form form);
// So that reading it gives the same double.
std::string ExactNumber(double value);

// Lines of a table of comma-separated values.

// Quotes fields where their text demands it. A field that a spreadsheet would
// compute as a formula gets an apostrophe before it.
std::string CsvLine(const std::vector<std::string>& fields);

// Appends value, low and high; the last two are empty without an interval.
void AddEstimate(const Estimate& estimate, std::vector<std::string>& fields);

// A number with its interval as JSON.

// value, low and high; null without a number, and for ends that there are not.
inline JsonValue EstimateToJson(const std::optional<Estimate>& estimate) {
  if (!estimate.has_value()) return nullptr;
  const auto& interval = estimate->interval;
  return {
      {"value", estimate->value},
      {"low", interval.has_value() ? JsonValue(interval->low) : JsonValue()},
      {"high", interval.has_value() ? JsonValue(interval->high) : JsonValue()}};
}

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_REPORT_TABLE_H_
