#include "experiments/report/table.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "core/text/columns.h"

namespace banyan {
namespace {

using Row = std::vector<std::string>;

std::vector<int> Widths(const Table& table) {
  std::vector<int> widths;
  for (const std::string& title : table.header)
    widths.push_back(Columns(title));
  for (const Table::Section& section : table.sections)
    for (const Row& row : section.rows)
      for (std::size_t i = 0; i < row.size(); ++i)
        widths[i] = std::max(widths[i], Columns(row[i]));
  return widths;
}

std::string TextLine(const Table& table, const Row& row,
                     const std::vector<int>& widths) {
  std::string line;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const std::string padding(
        static_cast<std::size_t>(widths[i] - Columns(row[i])), ' ');
    absl::StrAppend(
        &line, i == 0 ? "" : "  ",
        i < table.text_columns ? row[i] + padding : padding + row[i]);
  }
  absl::StripTrailingAsciiWhitespace(&line);
  return line + "\n";
}

// `row` with every text escaped.
template <typename Escape>
Row Escaped(const Row& row, const Escape& escape) {
  Row escaped;
  for (const std::string& text : row) escaped.push_back(escape(text));
  return escaped;
}

// The rows with every text escaped and what is bold between two signs.
template <typename Escape>
std::vector<Row> Written(const Table::Section& section, const Escape& escape,
                         absl::string_view before, absl::string_view after) {
  std::vector<Row> rows;
  for (const Row& row : section.rows) rows.push_back(Escaped(row, escape));
  for (const auto& [row, column] : section.bold) {
    std::string& text = rows[row][column];
    text = absl::StrCat(before, text, after);
  }
  return rows;
}

// `table` with names of any origin in it, fit for a terminal.
Table VisibleTable(Table table) {
  for (Table::Section& section : table.sections) {
    section.title = Visible(section.title);
    section.rows = Written(section, Visible, "", "*");
  }
  for (std::string& note : table.notes) note = VisibleLines(note);
  for (std::string& warning : table.warnings) warning = VisibleLines(warning);
  return table;
}

std::string MarkdownText(const std::string& text) {
  return absl::StrReplaceAll(text, {{"\\", "\\\\"},
                                    {"|", "\\|"},
                                    {"*", "\\*"},
                                    {"_", "\\_"},
                                    {"`", "\\`"},
                                    {"[", "\\["},
                                    {"<", "&lt;"},
                                    {"&", "&amp;"},
                                    {"\n", " "}});
}

std::string MarkdownLine(const Row& row) {
  return absl::StrCat("| ", absl::StrJoin(row, " | "), " |\n");
}

std::string LatexText(const std::string& text) {
  std::string escaped = absl::StrReplaceAll(text, {{"\\", "\\textbackslash{}"},
                                                   {"~", "\\textasciitilde{}"},
                                                   {"^", "\\textasciicircum{}"},
                                                   {"<", "\\textless{}"},
                                                   {">", "\\textgreater{}"},
                                                   {"|", "\\textbar{}"},
                                                   {"&", "\\&"},
                                                   {"%", "\\%"},
                                                   {"$", "\\$"},
                                                   {"#", "\\#"},
                                                   {"_", "\\_"},
                                                   {"{", "\\{"},
                                                   {"}", "\\}"},
                                                   {"\n", " "}});
  // After a line's end it would be read as the distance to the next.
  if (!escaped.empty() && escaped[0] == '[') escaped = "{}" + escaped;
  return escaped;
}

std::string LatexLine(const Row& row) {
  return absl::StrCat(absl::StrJoin(row, " & "), " \\\\\n");
}

}  // namespace

std::string ToText(const Table& raw) {
  const Table table = VisibleTable(raw);
  const std::vector<int> widths = Widths(table);
  std::string out;
  for (const std::string& warning : table.warnings)
    absl::StrAppend(&out, warning, "\n");
  for (const Table::Section& section : table.sections) {
    if (!out.empty()) out += "\n";
    if (!section.title.empty()) absl::StrAppend(&out, section.title, "\n");
    out += TextLine(table, table.header, widths);
    for (const Row& row : section.rows) out += TextLine(table, row, widths);
  }
  if (!table.notes.empty()) out += "\n";
  for (const std::string& note : table.notes) absl::StrAppend(&out, note, "\n");
  return out;
}

std::string ToMarkdown(const Table& table) {
  Row rule(table.header.size(), "---:");
  std::fill_n(rule.begin(), std::min(table.text_columns, rule.size()), "---");
  std::string out;
  for (const std::string& warning : table.warnings)
    absl::StrAppend(&out, out.empty() ? "" : "\n", "**", MarkdownText(warning),
                    "**\n");
  for (const Table::Section& section : table.sections) {
    if (!out.empty()) out += "\n";
    if (!section.title.empty())
      absl::StrAppend(&out, "### ", MarkdownText(section.title), "\n\n");
    absl::StrAppend(&out, MarkdownLine(Escaped(table.header, MarkdownText)),
                    MarkdownLine(rule));
    for (const Row& row : Written(section, MarkdownText, "**", "**"))
      out += MarkdownLine(row);
  }
  for (const std::string& note : table.notes)
    absl::StrAppend(&out, "\n", MarkdownText(note), "\n");
  return out;
}

std::string ToLatex(const Table& table) {
  const std::size_t columns = table.header.size();
  const std::size_t texts = std::min(table.text_columns, columns);
  std::string out;
  for (const std::string& warning : table.warnings)
    absl::StrAppend(&out, "% ", absl::StrReplaceAll(warning, {{"\n", " "}}),
                    "\n");
  absl::StrAppend(&out, "% \\usepackage{booktabs}\n\\begin{tabular}{",
                  std::string(texts, 'l'), std::string(columns - texts, 'r'),
                  "}\n\\toprule\n",
                  LatexLine(Escaped(table.header, LatexText)));
  for (const Table::Section& section : table.sections) {
    out += "\\midrule\n";
    if (!section.title.empty())
      absl::StrAppend(&out, "\\multicolumn{", columns, "}{l}{",
                      LatexText(section.title), "} \\\\\n");
    for (const Row& row : Written(section, LatexText, "\\textbf{", "}"))
      out += LatexLine(row);
  }
  out += "\\bottomrule\n\\end{tabular}\n";
  for (const std::string& note : table.notes)
    absl::StrAppend(&out, "% ", absl::StrReplaceAll(note, {{"\n", " "}}), "\n");
  return out;
}

}  // namespace banyan
