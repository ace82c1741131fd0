// The plots of a report as files, and its tables of two axes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "core/base/common.h"
#include "experiments/metrics/estimate.h"
#include "experiments/report/figures/plot.h"
#include "experiments/report/table.h"
#include "tests/experiments/run_program.h"
#include "tests/experiments/test_files.h"
#include "tests/support/made/made_records.h"

namespace banyan {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string Contents(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

Plot OnePoint(double x, double y) {
  return {.title = "<title> & \"more\"",
          .x_title = "x",
          .y_title = "y",
          .series = {{.name = "a <b>", .points = {{{x}, {y}, "a, \"b\""}}}}};
}

TEST(Plot, ShowsTextsOfAnyKind) {
  EXPECT_THAT(ToSvg(OnePoint(1, 2)),
              AllOf(HasSubstr("&lt;title&gt; &amp; &quot;more&quot;"),
                    HasSubstr("a &lt;b&gt;"), Not(HasSubstr("<b>"))));
  EXPECT_EQ(ToCsv(OnePoint(1, 2)),
            "series,label,x,x_low,x_high,y,y_low,y_high\n"
            "a <b>,\"a, \"\"b\"\"\",1,,,2,,\n");
}

TEST(CsvLine, LetsNoSpreadsheetComputeAText) {
  EXPECT_EQ(CsvLine({"=cmd|' /C calc'!A0", "+a", "-1+2", "@SUM(A1,2)", "\t=1",
                     "\r=1", "\n=1"}),
            "'=cmd|' /C calc'!A0,'+a,'-1+2,\"'@SUM(A1,2)\",'\t=1,\"'\r=1\","
            "\"'\n=1\"\n");
}

TEST(CsvLine, LeavesNumbersAndOtherTextsAsTheyAre) {
  EXPECT_EQ(CsvLine({"-0.5", "+5", "-1e-05", "-inf", "a=b", " =1", "", "'x"}),
            "-0.5,+5,-1e-05,-inf,a=b, =1,,'x\n");
}

TEST(Plot, HasRoundTicksThatHoldEveryNumber) {
  Plot plot = OnePoint(0, 0.31);
  plot.series[0].points.push_back(
      {{10}, {.value = 0.84, .interval = Interval{0.8, 1.13}}, ""});
  const std::string svg = ToSvg(plot);
  for (const char* tick : {">0.2<", ">0.4<", ">1.2<", ">0<", ">10<"})
    EXPECT_THAT(svg, HasSubstr(tick));
  EXPECT_THAT(svg, AllOf(Not(HasSubstr(">0.0<")), Not(HasSubstr(">1.4<")),
                         Not(HasSubstr("nan"))));
  plot.share = true;
  plot.whole_x = true;
  EXPECT_THAT(ToSvg(plot),
              AllOf(HasSubstr(">0.0<"), HasSubstr(">1.0<"),
                    Not(HasSubstr(">1.2<")), Not(HasSubstr(">0.5<"))));
  plot.guide = Plot::Guide::kDiagonal;
  EXPECT_THAT(ToSvg(plot), HasSubstr("class=\"guide\""));
  Plot close = OnePoint(3.96, 1);
  close.series[0].points.push_back({{4}, {2}, ""});
  EXPECT_THAT(ToSvg(close), HasSubstr(">3.96<"));
  close.x_from_zero = true;
  EXPECT_THAT(ToSvg(close),
              AllOf(HasSubstr(">0<"), HasSubstr(">4<"), Not(HasSubstr("3.9"))));
}

TEST(Plot, DrawsOneNumberAlone) {
  for (const double value : {0.0, -3.0, 1e-9, 1e12})
    EXPECT_THAT(ToSvg(OnePoint(value, value)),
                AllOf(HasSubstr("<circle"), Not(HasSubstr("nan")),
                      Not(HasSubstr("inf"))))
        << value;
}

class ReportFiles : public FolderTest {
 protected:
  ReportFiles() { WriteMadeRecords(OwnFolder() + "/run.banyan", {}); }

  static Outcome Report(const std::string& options) {
    return RunProgram("report " + OwnFolder() + " " + options);
  }
};

TEST_F(ReportFiles, PlotsAreSvgAndCsv) {
  const std::string folder = OwnFolder() + "/deep/figures";
  const Outcome outcome = Report("--figures " + folder);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("wrote 16 figures as SVG and CSV to"));
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    names.insert(entry.path().stem());
    const std::string text = Contents(entry.path());
    if (entry.path().extension() == ".csv")
      EXPECT_THAT(text, StartsWith("series,label,x,x_low,x_high,y,y_low"));
    else
      EXPECT_THAT(text, AllOf(StartsWith("<svg "), HasSubstr("\n</svg>\n")));
  }
  for (const char* plot :
       {"speed_by_size", "tokens_by_size", "acceptance_by_depth",
        "conditional_acceptance_by_depth", "acceptance_by_rank",
        "accepted_lengths", "predicted_speed", "time_shares"})
    for (const char* where : {"_target_T0", "_grown-target_T1"})
      EXPECT_EQ(names.count(absl::StrCat(plot, where)), 1u) << plot << where;
  EXPECT_EQ(names.size(), 16u);
  EXPECT_THAT(Contents(folder + "/speed_by_size_target_T0.csv"),
              HasSubstr("\nsmall_model: expansion,"));
}

TEST_F(ReportFiles, PlotsNeedAFolder) {
  const std::string file = OwnFolder() + "/run.banyan";
  const Outcome outcome = Report("--figures " + file);
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr(file));
}

// The lossy cell has the largest number, and is not the best.
TEST_F(ReportFiles, TablesOfTwoAxesHaveTheBestInBold) {
  const Outcome latex = Report("--format latex --rows method");
  EXPECT_EQ(latex.code, 0) << latex.err;
  EXPECT_THAT(latex.out,
              AllOf(HasSubstr(" & \\multicolumn{2}{c}{temperature 0} & "
                              "\\multicolumn{2}{c}{temperature 1} \\\\\n"
                              "\\cmidrule(lr){2-3}\n\\cmidrule(lr){4-5}\n"
                              "method & speed & tokens per pass & speed &"),
                    HasSubstr("chain & \\textbf{2.092 [1.320, 3.314]} & "),
                    HasSubstr("merged & 1.915 [1.328, 2.762] LOSSY & 2.714 "),
                    HasSubstr("lossy\\_merged &  &  & ")));
  EXPECT_THAT(Report("--columns temperature").out,
              HasSubstr(" 2.092 [1.320, 3.314]* "));
  EXPECT_THAT(Report("--format markdown --rows method").out,
              HasSubstr("| **2.092 \\[1.320, 3.314]** |"));
  const std::string times =
      Report("--columns temperature --metrics ms_per_token").out;
  EXPECT_THAT(times, HasSubstr("temperature 0: ms per token"));
  const auto chain = times.find("\nchain");
  EXPECT_NE(times.substr(chain, times.find('\n', chain + 1) - chain).find('*'),
            std::string::npos)
      << times;  // the fewest
}

TEST_F(ReportFiles, TablesOfTwoAxesHaveTheBestOfARowWhereAsked) {
  const auto bold = [](const std::string& options) {
    const std::string out = Report(
                                "--format markdown --rows temperature "
                                "--columns method --metrics tokens_per_pass" +
                                options)
                                .out;
    std::vector<std::ptrdiff_t> found;
    for (const absl::string_view line : absl::StrSplit(out, '\n'))
      if (absl::StartsWith(line, "| 0 ") || absl::StartsWith(line, "| 1 "))
        found.push_back(std::count(line.begin(), line.end(), '*') / 4);
    return found;
  };
  // At temperature 1 plain decoding is the one lossless method.
  EXPECT_THAT(bold(" --best-of-row"), testing::ElementsAre(1, 1));
  EXPECT_THAT(bold(""), testing::ElementsAre(2, 0));
  EXPECT_THAT(Report("--best-of-row").out,
              HasSubstr("the best lossless number of a row."));
}

TEST_F(ReportFiles, TablesOfTwoAxesRefuseWhatHasNoPlace) {
  const struct {
    const char* options;
    const char* told;
  } kCases[] = {
      {"--rows nope", "--rows: unknown axis 'nope'"},
      {"--columns nope", "--columns: unknown axis 'nope'"},
      {"--rows verifier --columns target", "'plain' and 'chain' both are at"},
      {"--rows method --format csv", "found csv"},
      {"--columns target --format html", "found html"},
  };
  for (const auto& [options, told] : kCases) {
    const Outcome outcome = Report(options);
    EXPECT_EQ(outcome.code, 2) << options;
    EXPECT_THAT(outcome.err, HasSubstr(told)) << options;
  }
  EXPECT_EQ(Report("--rows verifier --columns target --group method").code, 0);
}

}  // namespace
}  // namespace banyan
