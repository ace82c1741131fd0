// The page of `banyan report`, as text. What a browser makes of it is tested by
// page_browser_test.py.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/json/json_value.h"
#include "experiments/metrics/catalogue.h"
#include "experiments/metrics/metric.h"
#include "experiments/report/page/html_page.h"
#include "nlohmann/json.hpp"
#include "tests/experiments/run_program.h"
#include "tests/experiments/test_files.h"
#include "tests/support/made/made_records.h"

namespace banyan {
namespace {

using nlohmann::ordered_json;
using testing::HasSubstr;
using testing::Not;

JsonValue Report(const std::string& text) {
  JsonValue report = {{"question", text},
                      {"experiment", text},
                      {"cells", JsonValue::List()},
                      {"metrics", JsonValue::List()}};
  report["samples"].Add({{"prompt", text}});
  return report;
}

// Of a report whose texts are all the same.
std::string Page(const std::string& text) {
  return HtmlPage(text, Report(text));
}

int Count(absl::string_view text, absl::string_view part) {
  int count = 0;
  for (auto at = text.find(part); at != absl::string_view::npos;
       at = text.find(part, at + part.size())) {
    ++count;
  }
  return count;
}

// What a browser takes for the report: up to the first end of a script.
std::string EmbeddedJson(absl::string_view page) {
  page.remove_prefix(page.find(R"(<script type="application/json")"));
  page.remove_prefix(page.find('>') + 1);
  return std::string(page.substr(0, page.find("</script")));
}

TEST(ReportPage, HoldsTheReport) {
  const std::string page = Page("Does a tree pay?");
  EXPECT_EQ(EmbeddedJson(page), Report("Does a tree pay?").Text());
  EXPECT_THAT(page, HasSubstr("<title>Does a tree pay?</title>"));
  EXPECT_THAT(page, HasSubstr("<h1>Does a tree pay?</h1>"));
}

TEST(ReportPage, HoldsEveryFileWhole) {
  const std::string page = Page("");
  for (const char* name :
       {"page.css", "page.js", "page_data.js", "page_figures.js",
        "page_answer.js", "page_table.js", "page_viewer.js", "glossary.md"}) {
    const std::optional<absl::string_view> file = PageFile(name);
    ASSERT_TRUE(file.has_value()) << name;
    EXPECT_GT(file->size(), 1000u) << name;
    EXPECT_EQ(Count(page, *file), 1) << name;
  }
  EXPECT_FALSE(PageFile("page.txt").has_value());
}

// The page's scripts share one scope, where a second definition of a name would
// silently take the place of the first.
TEST(ReportPage, DefinesEveryNameOnce) {
  std::set<std::string> names;
  const std::regex definition(R"(^(?:function|const|let|var|class) (\w+))");
  int files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator("experiments/report/page")) {
    if (entry.path().extension() != ".js") continue;
    ++files;
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);) {
      std::smatch match;
      if (std::regex_search(line, match, definition)) {
        EXPECT_TRUE(names.insert(match[1]).second)
            << entry.path() << ": " << match[1];
      }
    }
  }
  EXPECT_EQ(files, 7);
  EXPECT_GT(names.size(), 70u);
}

// A figure would otherwise have no place, or no sentence.
using ReportPageFigures = FolderTest;
TEST_F(ReportPageFigures, AreKnownToThePageWithTheirMetrics) {
  std::set<std::string> metrics;
  for (const MetricRow& row : MetricCatalogue()) metrics.emplace(row.name);
  const std::string script(*PageFile("page_figures.js"));
  const std::regex asked(R"re(metric: "(\w+)")re");
  int found = 0;
  for (std::sregex_iterator at(script.begin(), script.end(), asked), end;
       at != end; ++at, ++found)
    EXPECT_EQ(metrics.count((*at)[1]), 1U) << (*at)[1];
  EXPECT_EQ(found, 6);
  WriteMadeRecords(OwnFolder() + "/run.banyan", {});
  const ordered_json report = ordered_json::parse(
      RunProgram("report --format json " + OwnFolder()).out);
  std::set<std::string> plots;
  for (const auto& figure : report.at("figures"))
    plots.insert(figure.at("plot"));
  for (const std::string& plot : plots)
    EXPECT_THAT(script, HasSubstr("\n  " + plot + ": {place: ")) << plot;
  EXPECT_EQ(plots.size(), 8U);
}

TEST(ReportPage, FillsEveryNameOfTheTemplateAndNoOther) {
  // A text that looks like a {{name}} of it is a text.
  const std::string page = Page("{{page.css}} {{nothing}}");
  EXPECT_THAT(page, HasSubstr("<h1>{{page.css}} {{nothing}}</h1>"));
  EXPECT_EQ(Count(page, *PageFile("page.css")), 1);
  const std::string plain = Page("");
  for (const std::string name : {"title", "report", "page.css", "page.js"}) {
    EXPECT_THAT(plain, Not(HasSubstr("{{" + name))) << name;
  }
}

TEST(ReportPage, IsNotEndedByAnyText) {
  const std::string plain = Page("");
  const std::vector<std::string> texts = {
      "</script><script>alert(1)</script>",
      "</SCRIPT >",
      "<!-- <script> ",
      "]]> --> & \"'` \\ \\u003c",
      std::string("\0\n\t\x7f\x1b", 5),
      "\xE2\x80\xA8 \xE2\x80\xA9 \xF0\x9F\x98\x80",
  };
  for (const std::string& text : texts) {
    const std::string page = Page(text);
    const std::string json = EmbeddedJson(page);
    EXPECT_EQ(ordered_json::parse(json),
              ordered_json::parse(Report(text).Text()))
        << json;
    EXPECT_EQ(Count(json, "<"), 0) << json;
    for (const char* part : {"<script", "</script", "<!--", "<style"}) {
      EXPECT_EQ(Count(page, part), Count(plain, part)) << part << json;
    }
  }
}

TEST(ReportPage, EscapesTheTitle) {
  EXPECT_THAT(Page("a < b & \"c\" </title>"),
              HasSubstr("<title>a &lt; b &amp; &quot;c&quot; &lt;/title&gt;"
                        "</title>"));
}

TEST(ReportPage, TakesBytesThatAreNoText) {
  const std::string page = Page("a\xFFz");
  const ordered_json held = ordered_json::parse(EmbeddedJson(page));
  EXPECT_EQ(held["samples"][0]["prompt"], "a\xEF\xBF\xBDz");
  EXPECT_THAT(page, HasSubstr("<h1>a\xEF\xBF\xBDz</h1>"));
}

TEST(ReportPage, LoadsNothing) {
  const std::string page = Page("");
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  for (const char* part :
       {"<script src", "<img", "@import", "url(", "fetch(", "XMLHttpRequest"}) {
    EXPECT_THAT(page, Not(HasSubstr(part)));
  }
  EXPECT_THAT(page, Not(HasSubstr("://")));
}

}  // namespace
}  // namespace banyan
