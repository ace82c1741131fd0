// Tables as text, Markdown and LaTeX.
#ifndef BANYAN_EXPERIMENTS_REPORT_TABLE_H_
#define BANYAN_EXPERIMENTS_REPORT_TABLE_H_

#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace banyan {

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

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_REPORT_TABLE_H_
