#include "experiments/report/table.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/str_replace.h"
#include "core/base/common.h"
#include "core/terminal/columns.h"

namespace banyan {

namespace {

using Row = std::vector<std::string>;

constexpr int kGap = 2;        // between columns
constexpr int kNameRoom = 28;  // of a column of names in a table that is cut
constexpr int kLeastName = 16;
constexpr int kTextRoom = 22;  // of further texts

int WidestWord(const std::string& text) {
  int widest = 0;
  for (absl::string_view word : absl::StrSplit(text, ' '))
    widest = std::max(widest, Columns(word));
  return widest;
}

// A table's columns as a terminal shows them, as many as have room in each
// part.
class TextLayout {
 public:
  explicit TextLayout(const Table& table) : table_(table) {
    std::vector<int> contents(table.header.size());
    for (const Table::Section& section : table.sections)
      for (const Row& row : section.rows)
        for (std::size_t i = 0; i < row.size(); ++i)
          contents[i] = std::max(contents[i], Columns(row[i]));
    int all = -kGap;
    for (std::size_t i = 0; i < contents.size(); ++i) {
      widths_.push_back(std::max(contents[i], Columns(table.header[i])));
      all += widths_[i] + kGap;
    }
    if (all <= kTableColumns) {
      parts_.emplace_back();
      for (std::size_t i = 1; i < widths_.size(); ++i)
        parts_.back().push_back(i);
      return;
    }
    int others = 0;  // but the first column
    for (std::size_t i = 0; i < contents.size(); ++i) {
      widths_[i] = std::max(contents[i], WidestWord(table.header[i]));
      if (i > 0 && i < table.text_columns)
        widths_[i] = std::min(widths_[i], kTextRoom);
      widths_[i] = std::min(widths_[i], kTableColumns - kNameRoom - kGap);
      if (i > 0) others += kGap + widths_[i];
    }
    // Narrow names rather than a second part.
    const int room_for_name = kTableColumns - others;
    widths_[0] = std::min(
        widths_[0], room_for_name >= kLeastName ? room_for_name : kNameRoom);
    int room = 0;
    for (std::size_t i = 1; i < widths_.size(); ++i) {
      if (parts_.empty() || room < kGap + widths_[i]) {
        parts_.emplace_back();
        room = kTableColumns - widths_[0];
      }
      parts_.back().push_back(i);
      room -= kGap + widths_[i];
    }
    if (parts_.empty()) parts_.emplace_back();
  }

  std::string Section(const Table::Section& section) const {
    std::string out;
    for (const std::vector<std::size_t>& part : parts_) {
      if (!out.empty()) out += "\n";
      out += Lines(table_.header, part);
      for (const Row& row : section.rows) out += Lines(row, part);
    }
    return out;
  }

 private:
  // The texts of a row below each other where they have no room.
  std::string Lines(const Row& row,
                    const std::vector<std::size_t>& part) const {
    std::vector<std::size_t> columns = {0};
    columns.insert(columns.end(), part.begin(), part.end());
    std::vector<std::vector<std::string>> cells;
    std::size_t most = 1;
    for (const std::size_t i : columns) {
      cells.push_back(Columns(row[i]) <= widths_[i]
                          ? std::vector<std::string>{row[i]}
                          : Broken(row[i], widths_[i]));
      most = std::max(most, cells.back().size());
    }
    std::string out;
    for (std::size_t line = 0; line < most; ++line) {
      std::string text;
      for (std::size_t k = 0; k < columns.size(); ++k) {
        const std::string own = line < cells[k].size() ? cells[k][line] : "";
        const std::string padding(static_cast<std::size_t>(std::max(
                                      0, widths_[columns[k]] - Columns(own))),
                                  ' ');
        absl::StrAppend(
            &text, k == 0 ? "" : std::string(kGap, ' '),
            columns[k] < table_.text_columns ? own + padding : padding + own);
      }
      absl::StripTrailingAsciiWhitespace(&text);
      absl::StrAppend(&out, text, "\n");
    }
    return out;
  }

  // At spaces, and where a word has no room for itself within it.
  static std::vector<std::string> Broken(const std::string& text, int width) {
    std::vector<std::string> lines;
    for (std::string line : Wrapped(text, width)) {
      while (Columns(line) > width) {
        std::size_t end = 0;
        while (end < line.size()) {  // whole characters
          std::size_t next = end + 1;
          while (next < line.size() &&
                 (static_cast<unsigned char>(line[next]) & 0xC0) == 0x80)
            ++next;
          if (end > 0 && Columns(line.substr(0, next)) > width) break;
          end = next;
        }
        lines.push_back(line.substr(0, end));
        line = line.substr(end);
      }
      lines.push_back(std::move(line));
    }
    return lines;
  }

  const Table& table_;
  std::vector<int> widths_;
  std::vector<std::vector<std::size_t>> parts_;  // columns but the first
};

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

// The heads of a table that has one line of them.
Row OneHead(const Table& table) {
  Row header = table.header;
  for (std::size_t i = 0; i < table.above.size(); ++i)
    if (!table.above[i].empty())
      header[i] = absl::StrCat(table.above[i], ": ", header[i]);
  return header;
}

// `table` with names of any origin in it, fit for a terminal.
Table VisibleTable(Table table) {
  table.header = OneHead(table);
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

// The heads above, each over its columns and a rule; nothing without any.
std::string LatexAbove(const Row& above) {
  Row heads;
  std::string rules;
  for (std::size_t first = 0, end = 0; first < above.size(); first = end) {
    for (end = first; end < above.size() && above[end] == above[first];) ++end;
    if (above[first].empty()) {
      heads.insert(heads.end(), end - first, "");
      continue;
    }
    heads.push_back(absl::StrCat("\\multicolumn{", end - first, "}{c}{",
                                 LatexText(above[first]), "}"));
    absl::StrAppend(&rules, "\\cmidrule(lr){", first + 1, "-", end, "}\n");
  }
  return heads.empty() ? "" : LatexLine(heads) + rules;
}

}  // namespace

std::string ToText(const Table& raw) {
  const Table table = VisibleTable(raw);
  const TextLayout layout(table);
  std::string out;
  const auto add = [&out](const std::string& sentence) {
    for (const std::string& line : Wrapped(sentence, kTableColumns))
      absl::StrAppend(&out, line, "\n");
  };
  for (const std::string& warning : table.warnings) add(warning);
  for (const Table::Section& section : table.sections) {
    if (!out.empty()) out += "\n";
    if (!section.title.empty()) add(section.title);
    out += layout.Section(section);
  }
  if (!table.notes.empty()) out += "\n";
  for (const std::string& note : table.notes) add(note);
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
    absl::StrAppend(&out, MarkdownLine(Escaped(OneHead(table), MarkdownText)),
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
                  "}\n\\toprule\n", LatexAbove(table.above),
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

std::string ShortNumber(double value, Form form) {
  const double size = std::fabs(value);
  if (form == Form::kTotal || size >= 1000)
    return absl::StrFormat("%.0f", value);
  if (size >= 100) return absl::StrFormat("%.1f", value);
  if (size >= 10) return absl::StrFormat("%.2f", value);
  if (size >= 0.1 || value == 0) return absl::StrFormat("%.3f", value);
  return absl::StrFormat("%.3g", value);
}

std::string ShortDifference(double value, Form form) {
  return absl::StrCat(value > 0 ? "+" : "", ShortNumber(value, form));
}

std::string ShortInterval(const Estimate& estimate, Form form) {
  if (!estimate.interval.has_value()) return "";
  return absl::StrCat("[", ShortNumber(estimate.interval->low, form), ", ",
                      ShortNumber(estimate.interval->high, form), "]");
}

std::string ExactNumber(double value) {
  return absl::StrFormat("%.17g", value);
}

namespace {

// Spreadsheets compute a text that begins like a formula, quoted or not.
bool IsLikeAFormula(const std::string& text) {
  double number = 0;
  return text.find_first_of("=+-@\t\r\n") == 0 &&
         !absl::SimpleAtod(text, &number);
}

std::string Quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\"", "\"\""}}), "\"");
}

}  // namespace

std::string CsvLine(const std::vector<std::string>& fields) {
  return absl::StrCat(
      absl::StrJoin(fields, ",",
                    [](std::string* out, const std::string& field) {
                      out->append(
                          Quoted(IsLikeAFormula(field) ? "'" + field : field));
                    }),
      "\n");
}

void AddEstimate(const Estimate& estimate, std::vector<std::string>& fields) {
  fields.push_back(ExactNumber(estimate.value));
  const bool known = estimate.interval.has_value();
  fields.push_back(known ? ExactNumber(estimate.interval->low) : "");
  fields.push_back(known ? ExactNumber(estimate.interval->high) : "");
}

}  // namespace banyan
