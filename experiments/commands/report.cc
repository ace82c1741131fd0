// banyan report: what was recorded, as tables, files and a page.
#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "core/base/common.h"
#include "core/base/messages.h"
#include "core/json/json_value.h"
#include "experiments/commands/commands.h"
#include "experiments/commands/shared/command_line.h"
#include "experiments/commands/shared/output.h"
#include "experiments/records/record_set.h"
#include "experiments/report/answer/answer.h"
#include "experiments/report/figures/figures.h"
#include "experiments/report/page/html_page.h"
#include "experiments/report/page/page_json.h"
#include "experiments/report/page/token_texts.h"
#include "experiments/report/stated_costs.h"
#include "experiments/report/summary.h"
#include "experiments/report/summary_table.h"
#include "experiments/report/table.h"

namespace banyan {
namespace {

struct Options {
  std::vector<std::string> paths;
  std::string format = "table";
  SummaryOptions summary;
  CrossAxes axes = {.rows = "", .columns = ""};  // both empty: a row a cell
  std::string figures;
  PageOptions page;
  bool mixed = false;
  bool all = false;
  std::string kind;
  std::string curve;
  OutputPath out;
};

// The table's own few metrics, or all that were asked for.
absl::StatusOr<Table> ReportTable(const RecordSet& set,
                                  const SummaryOptions& asked) {
  SummaryOptions options = asked;
  if (asked.metrics.empty()) options.metrics = DefaultMetrics(asked.costs);
  BANYAN_ASSIGN_OR_RETURN(const Summary summary, Summarise(set, options));
  Table table = MakeTable(
      summary, asked.metrics.empty() ? Detail::kBrief : Detail::kFull);
  table.warnings = set.refuted;
  return table;
}

bool WantsCrossTable(const Options& options) {
  return !options.axes.rows.empty() || !options.axes.columns.empty() ||
         options.axes.best_of_row;
}

// Speedup and tokens per pass, if no metrics were asked for.
absl::StatusOr<Table> ReportCrossTable(const RecordSet& set,
                                       const Options& options) {
  SummaryOptions summarised = options.summary;
  if (summarised.metrics.empty())
    summarised.metrics = {"speed", "tokens_per_pass"};
  CrossAxes axes = {.best_of_row = options.axes.best_of_row};
  if (!options.axes.rows.empty()) axes.rows = options.axes.rows;
  if (!options.axes.columns.empty()) axes.columns = options.axes.columns;
  BANYAN_ASSIGN_OR_RETURN(const Summary summary, Summarise(set, summarised));
  BANYAN_ASSIGN_OR_RETURN(Table table, MakeCrossTable(summary, axes));
  table.warnings = set.refuted;
  return table;
}

absl::Status WriteFiguresOf(const RecordSet& set, const Options& options) {
  SummaryOptions summarised = options.summary;
  summarised.metrics.clear();
  BANYAN_ASSIGN_OR_RETURN(const Summary summary, Summarise(set, summarised));
  const std::vector<Figure> figures = MakeFigures(summary, options.page.series);
  BANYAN_RETURN_IF_ERROR(WriteFigures(figures, options.figures));
  std::cerr << "wrote " << Counted(static_cast<int>(figures.size()), "figure")
            << " as SVG and CSV to " << options.figures << "\n";
  return absl::OkStatus();
}

// Else it is a document of everything.
bool IsTable(const std::string& format) {
  return format == "table" || format == "markdown" || format == "latex";
}

// Nothing was asked for that only the long table shows.
bool WantsAnswer(const Options& options) {
  return !options.all && options.format == "table" &&
         options.summary.metrics.empty() && options.summary.group.empty() &&
         options.summary.reference.empty() && options.curve.empty() &&
         !options.mixed && !WantsCrossTable(options);
}

std::string Written(const Table& table, const std::string& format) {
  if (format == "markdown") return ToMarkdown(table);
  if (format == "latex") return ToLatex(table);
  return ToText(table);
}

absl::StatusOr<std::string> ReportText(const RecordSet& set,
                                       const Options& options) {
  if (!IsTable(options.format)) {
    BANYAN_ASSIGN_OR_RETURN(const Summary summary,
                            Summarise(set, options.summary));
    if (options.format == "csv") return ToCsv(summary);
    TokenTexts texts;
    const JsonValue report = ToJson(set, summary, options.page, texts);
    if (options.format == "json") return report.Text() + "\n";
    return HtmlPage(set.files.front().context.question(), report);
  }
  if (!options.all)
    return AnswerText(MakeAnswer(set),
                      absl::StrCat("banyan report --all ",
                                   absl::StrJoin(options.paths, " ")));
  BANYAN_ASSIGN_OR_RETURN(const Table table,
                          WantsCrossTable(options)
                              ? ReportCrossTable(set, options)
                              : ReportTable(set, options.summary));
  std::string text = Written(table, options.format);
  if (options.summary.costs != nullptr &&
      !options.summary.costs->rates.empty()) {
    BANYAN_ASSIGN_OR_RETURN(const Table rates,
                            RatesTable(*options.summary.costs));
    absl::StrAppend(&text, "\n", Written(rates, options.format));
  }
  return text;
}

absl::Status MakeAndWrite(Options options) {
  if (WantsCrossTable(options) && !IsTable(options.format))
    return absl::InvalidArgumentError(
        absl::StrCat("--rows and --columns shape tables: expected --format "
                     "table, markdown or latex, found ",
                     options.format));
  options.all = !WantsAnswer(options);
  StatedCosts costs;
  if (!options.curve.empty()) {
    BANYAN_ASSIGN_OR_RETURN(costs, ReadStatedCosts(options.curve));
    options.summary.costs = &costs;
  }
  BANYAN_ASSIGN_OR_RETURN(RecordSet set,
                          ReadRecordSet(options.paths, options.mixed));
  if (!options.kind.empty())
    BANYAN_RETURN_IF_ERROR(KeepKind(options.kind, set));
  std::vector<std::string>& group = options.summary.group;
  const bool by_machine =
      std::find(group.begin(), group.end(), "machine") != group.end();
  if (SplitByMachine(set) && !by_machine)
    group.insert(group.begin(), "machine");
  if (std::find(group.begin(), group.end(), "kind") != group.end())
    SplitByKind(set);
  if (options.summary.costs != nullptr)
    BANYAN_RETURN_IF_ERROR(StateTimes(costs, set));
  if (options.all)
    PrintWarnings(set);
  else  // the answer begins with a loaded machine
    for (const std::string& warning : set.warnings) PrintWarning(warning);
  BANYAN_ASSIGN_OR_RETURN(const std::string text, ReportText(set, options));
  BANYAN_RETURN_IF_ERROR(WriteOutput(options.out, text));
  if (!options.figures.empty())
    BANYAN_RETURN_IF_ERROR(WriteFiguresOf(set, options));
  return CheckClaims(set);
}

}  // namespace

void AddReportCommand(CommandLine& line) {
  Command command = line.Add(
      {.name = "report",
       .sentence = "Answers an experiment's question from its records.",
       .more = "It also answers while the experiment runs, and prints all "
               "figures if asked, with 95 % intervals over prompts. Exit "
               "status 3: texts refute a claim to be lossless.",
       .example = "  banyan run configs/hello.yaml --out out/hello\n"
                  "  banyan report out/hello\n"
                  "  banyan report out/hello --all --reference chain\n"
                  "  banyan report out/hello --curve configs/costs/flat.yaml\n"
                  "  banyan report out/hello --format latex --rows method "
                  "--columns temperature\n"
                  "  banyan report out/hello --figures figures\n"
                  "  banyan report out/hello --format html --out report.html"});
  const auto options = std::make_shared<Options>();
  command
      .Option("PATH", &options->paths, "Record files, or directories of them.")
      .Required();
  command.Flag("--all", &options->all,
               "The long table: every cell with intervals, instead of the "
               "answer; so do --format, --metrics, --group, --reference, "
               "--rows, --columns, --curve and --mixed.");
  command
      .Option("--format", &options->format,
              "Table, markdown and latex are the long table; csv, json and "
              "html have "
              "all.")
      .OneOf({"table", "markdown", "csv", "latex", "json", "html"})
      .ShowDefault();
  command
      .Option("--metrics", &options->summary.metrics,
              "Only these, separated by commas (banyan list has them); "
              "otherwise a choice in tables, and all in csv, json and html.")
      .ByCommas();
  command
      .Option("--group", &options->summary.group,
              "Group cells by these axes, separated by commas; also by method, "
              "target, verifier, temperature and the prompts' kind.")
      .ByCommas();
  command.Option("--reference", &options->summary.reference,
                 "Give differences to this cell, or to the cell of this "
                 "method in each group.");
  command.Option("--rows", &options->axes.rows,
                 "A table with a row for each value of this axis, as papers "
                 "have it, best numbers bold; method if not given.");
  command.Option("--columns", &options->axes.columns,
                 "And columns for each value of this one; temperature if not "
                 "given.");
  command.Flag(
      "--best-of-row", &options->axes.best_of_row,
      "The same table, the best number of each row bold instead of each "
      "column.");
  command.Option("--figures", &options->figures,
                 "Also write the plots into this folder, each as SVG and CSV.");
  command
      .Option("--series", &options->page.series,
              "Series that a plot draws, those with the largest numbers.")
      .AtLeast(1)
      .ShowDefault();
  command.Option("--curve", &options->curve,
                 "Also predict the speed at the costs of another machine: "
                 "YAML with target_ms, by tokens of a target pass, draft_ms, "
                 "a level, of all drafters or by drafter, and, if wanted, "
                 "rates: acceptance rates from elsewhere.");
  command
      .Option("--samples", &options->page.samples,
              "Prompts of every cell whose rounds json and html show.")
      .AtLeast(0)
      .ShowDefault();
  command.Option("--kind", &options->kind, "Only prompts of this kind.");
  command.Flag("--mixed", &options->mixed,
               "Put different experiments side by side.");
  command.Option("--out", &options->out, "Write to this file.");
  command.OnCall([options] { return MakeAndWrite(*options); });
}

}  // namespace banyan
