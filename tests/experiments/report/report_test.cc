// banyan report, as a user meets it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <string>

#include "core/base/common.h"
#include "experiments/records/record.pb.h"
#include "tests/experiments/run_program.h"
#include "tests/experiments/test_files.h"
#include "tests/support/made/made_records.h"

namespace banyan {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

class ReportTest : public FolderTest {
 protected:
  ReportTest() { WriteMadeRecords(OwnFolder() + "/run.banyan", {}); }

  static Outcome Report(const std::string& options) {
    return RunProgram("report " + OwnFolder() + " " + options);
  }
};

TEST_F(ReportTest, IsTheAnswerUnlessMoreIsAskedFor) {
  const Outcome outcome = Report("");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("Is what is made up counted right?\n"),
                    HasSubstr("Fastest lossless method: "),
                    HasSubstr("All numbers: banyan report --all "),
                    Not(HasSubstr("alpha"))));
  EXPECT_THAT(Report("--kind edit").out, HasSubstr("(3 prompts, "));
}

TEST_F(ReportTest, IsATableOfAllCells) {
  const Outcome outcome = Report("--all");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  EXPECT_THAT(
      outcome.out,
      AllOf(ContainsRegex("cell +prompts +tokens +accepted +alpha +speed\n"),
            ContainsRegex("plain +6 +1\\.000 +- +- +1\\.000 \\[1\\.000, "
                          "1\\.000\\]\n"),
            ContainsRegex("lossy_merged 1 +LOSSY, grown \\(target\\) +6 "),
            HasSubstr("95 % intervals"),
            HasSubstr("LOSSY: the output does not follow"),
            HasSubstr("grown (NAME)")));
}

TEST_F(ReportTest, EndsWithThreeWhereTextsRefuteAClaim) {
  WriteMadeRecords(OwnFolder() + "/run.banyan", {.lies = true});
  const std::string claim =
      "NOT LOSSLESS: merged claims to be, but 1 of its 6 texts at temperature";
  const Outcome answer = Report("");
  EXPECT_EQ(answer.code, 3) << answer.err;
  EXPECT_THAT(answer.out, AllOf(HasSubstr("right?\n" + claim),
                                Not(HasSubstr("T = 0 merged"))));
  EXPECT_THAT(answer.err, HasSubstr("banyan: " + claim));
  const Outcome table = Report("--all");
  EXPECT_EQ(table.code, 3);
  EXPECT_EQ(table.out.rfind(claim, 0), 0u) << table.out;
  EXPECT_THAT(table.out, ContainsRegex("\nmerged +NOT LOSSLESS +6 "));
  EXPECT_EQ(Report("--format latex").out.rfind("% " + claim, 0), 0u);
  EXPECT_EQ(Report("--format markdown").out.rfind("**" + claim, 0), 0u);
  const Outcome page = Report("--format html");
  EXPECT_EQ(page.code, 3);
  EXPECT_THAT(page.out, AllOf(HasSubstr(claim), HasSubstr("\"refuted\":true")));
}

// What is left out of a report takes nothing back.
TEST_F(ReportTest, EndsWithThreeWhateverKindIsAskedFor) {
  MadeOptions options;
  options.lies = true;
  WriteMadeRecords(OwnFolder() + "/lying.banyan", options);
  for (const char* kind : {"edit", "continue"}) {
    const Outcome outcome = RunProgram("report " + OwnFolder() +
                                       "/lying.banyan --all --kind " + kind);
    EXPECT_EQ(outcome.code, 3) << kind << outcome.output;
    EXPECT_THAT(outcome.out, HasSubstr("NOT LOSSLESS: merged")) << kind;
  }
}

TEST_F(ReportTest, GivesDifferencesToAReferenceCell) {
  const Outcome outcome = Report("--metrics ms_per_token --reference chain");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(
      outcome.out,
      AllOf(HasSubstr("difference in ms per"),
            HasSubstr("Differences are to chain."),
            ContainsRegex("merged +[0-9] of 6, p [0-9.]+\n"),
            HasSubstr("sign test"),
            ContainsRegex("chain +6 +[0-9.]+ \\[[^]]+\\] +-\n"),
            ContainsRegex("merged +LOSSY +6 +[0-9.]+ \\[[^]]+\\] +[+-][0-9.]+ "
                          "\\[[^]]+\\]\n")));
}

TEST_F(ReportTest, CanBeOfOneKindOfPrompts) {
  const Outcome outcome = Report("--all --kind edit");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, ContainsRegex("plain +3 +1\\.000"));
  const Outcome none = Report("--kind poem");
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.err, AllOf(HasSubstr("'poem'"), HasSubstr("edit")));
}

TEST_F(ReportTest, SetsTheKindsOfPromptsBesideEachOther) {
  const Outcome outcome = Report(
      "--group temperature,kind --reference plain --metrics accepted_per_pass");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const Outcome beside =
      Report("--metrics accepted_per_pass --format csv --group kind");
  EXPECT_EQ(beside.code, 0) << beside.err;
  for (const char* kind : {"continue", "edit"}) {
    // The numbers are those of the report of this kind alone.
    const Outcome alone = Report(
        absl::StrCat("--metrics accepted_per_pass --format csv --kind ", kind));
    int rows = 0;
    for (const absl::string_view line : absl::StrSplit(alone.out, '\n')) {
      const auto numbers = line.find(",accepted_per_pass,");
      if (numbers == absl::string_view::npos) continue;
      EXPECT_THAT(beside.out, HasSubstr(absl::StrCat(
                                  ",", kind, line.substr(numbers), "\n")));
      ++rows;
    }
    EXPECT_EQ(rows, 3) << "plain decoding has no accepted_per_pass";
    EXPECT_THAT(outcome.out,
                HasSubstr(absl::StrCat("temperature 0, kind ", kind, "\n")));
    EXPECT_THAT(outcome.out,
                ContainsRegex(absl::StrCat("\nchain, kind=", kind, " +3 ")));
  }
  EXPECT_EQ(Report("--group kind --format html --out /dev/null").code, 0);
}

TEST_F(ReportTest, TakesOptionsBeforeThePathToo) {
  const Outcome outcome = RunProgram(
      "report --metrics alpha,speed --group temperature " + OwnFolder());
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, ContainsRegex("prompts +alpha +speed\n"));
}

TEST_F(ReportTest, GroupsCellsAndFindsAMethodInEachGroup) {
  const Outcome outcome = Report("--group temperature --reference plain");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out,
              ContainsRegex("temperature 0\ncell.*(.|\n)*temperature 1\ncell"));
  // A cell is called plain: it is the reference everywhere.
  EXPECT_THAT(outcome.out, HasSubstr("Differences are to plain.\n"));
  const Outcome method =
      Report("--group temperature,target --reference lossy_merged");
  EXPECT_EQ(method.code, 0) << method.err;
  EXPECT_THAT(method.out, AllOf(HasSubstr("temperature 1, target grown_target"),
                                HasSubstr("are to lossy_merged 1.")));
}

// The baseline stands in the group without a verifier; the others share it.
TEST_F(ReportTest, TakesABaselineThatStandsInAnotherGroup) {
  const Outcome alone =
      Report("--group method,temperature --reference plain --metrics speed");
  EXPECT_EQ(alone.code, 0) << alone.err;
  const Outcome together =
      Report("--group temperature --reference plain --metrics speed");
  for (const Outcome& outcome : {alone, together})
    EXPECT_THAT(
        outcome.out,
        AllOf(ContainsRegex("\nchain +6 +[0-9.]+ \\[[^]]+\\] +[+-][0-9.]+ "
                            "\\[[^]]+\\]\n"),
              ContainsRegex("\nchain +6 of 6, p 0.031\n")));
}

TEST_F(ReportTest, WritesMarkdown) {
  const Outcome outcome = Report("--format markdown --group temperature");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("### temperature 0\n\n| cell |  | prompts |"),
                    HasSubstr("| --- | --- | ---: |"),
                    HasSubstr("| lossy\\_merged 1 | LOSSY, grown (target) |")));
}

TEST_F(ReportTest, WritesLatexWithEscapedTexts) {
  const Outcome outcome = Report("--format latex --group shape");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("\\begin{tabular}{llrrrrrrr}\n\\toprule\n"),
                    HasSubstr("50 \\%\\_} \\\\\n"),
                    HasSubstr("lossy\\_merged 1 & LOSSY, grown (target) & 6"),
                    HasSubstr("\\bottomrule\n\\end{tabular}\n")));
}

TEST_F(ReportTest, WritesCsvInTheLongForm) {
  const Outcome outcome =
      Report("--format csv --metrics tokens,acceptance_by_depth");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(
      outcome.out,
      AllOf(HasSubstr("cell,method,target,temperature,lossless,"
                      "matrix.temperature,shape,metric,key,value,low,high,"
                      "prompts\n"),
            HasSubstr("plain,plain,target,0,true,0,\"\"\"0\"\", 50 "
                      "%_\",tokens,,114,,,6\n"),
            ContainsRegex("chain,chain,target,0,true,0,[^\n]*,"
                          "acceptance_by_depth,depth 1,0\\."),
            ContainsRegex("\nlossy_merged 1,lossy_merged,[^,]*,1,false,1,")));
  EXPECT_THAT(Report("--format csv --reference chain").out,
              HasSubstr("prompts,difference,difference_low,difference_high\n"));
}

TEST_F(ReportTest, WritesToAFile) {
  const std::string page = OwnFolder() + "/page.html";
  const Outcome outcome = Report("--format html --out " + page);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(FileText(page), AllOf(HasSubstr("Is what is made up counted"),
                                    HasSubstr("lossy_merged 1")));
}

TEST_F(ReportTest, PredictsTheSpeedAtStatedCosts) {
  const std::string file = OwnFolder() + "/gpu.yaml";
  WriteText(file,
            "passes: [{ms: {1: 10, 100: 11}}]\n"
            "levels: [{ms: {small_model: 1, ngram: 0}}]\n");
  const std::string option = "--curve " + file;
  const Outcome table = Report(option + " --reference chain");
  EXPECT_EQ(table.code, 0) << table.err;
  EXPECT_THAT(table.err, HasSubstr("the same passes are taken for 2 targets"));
  EXPECT_THAT(
      table.out,
      AllOf(ContainsRegex(" predicted by curve: +predicted +ms"),
            HasSubstr("difference in predicted"),
            ContainsRegex("\nplain( [^\n]*)? 1\\.000 \\[1\\.000, 1\\.000\\]"),
            HasSubstr("/gpu.yaml: a round")));
  EXPECT_THAT(Report(option + " --format markdown").out,
              AllOf(HasSubstr("| predicted by curve: gpu.yaml |"),
                    HasSubstr("\n\nPredicted, not measured, by ")));
  EXPECT_THAT(Report(option + " --format latex").out,
              AllOf(HasSubstr("& predicted by curve: gpu.yaml &"),
                    HasSubstr("\n% Predicted, not measured, by ")));
  EXPECT_THAT(Report(option + " --format csv --group kind").out,
              ContainsRegex("\n\"chain, kind=edit\",[^\n]*,predicted_by_curve,"
                            "gpu.yaml,[0-9.]+,[0-9.]+,[0-9.]+,3\n"));
  EXPECT_THAT(Report(option + " --format html").out,
              AllOf(HasSubstr("\"curve\":{\"file\":\"" + file +
                              "\",\"name\":\"gpu.yaml\",\"costs\":\""),
                    HasSubstr("\"predicted_by_curve\":{\"gpu.yaml\":{")));
  // The oracle is told when it is asked for, with its interval and its note.
  EXPECT_THAT(table.out, Not(HasSubstr("oracle")));
  EXPECT_THAT(Report(option + " --metrics oracle_by_curve").out,
              AllOf(HasSubstr(" oracle by curve: gpu.yaml"),
                    ContainsRegex("\nchain[^\n]*  [0-9.]+ \\[[0-9.]+, "),
                    HasSubstr("Predicted, not measured, by ")));
}

TEST_F(ReportTest, PredictsTheSpeedOfStatedAcceptance) {
  const std::string file = OwnFolder() + "/gpu.yaml";
  const std::string costs =
      "passes: [{ms: {1: 10, 4: 12, 100: 100}}]\n"
      "levels: [{ms: {small_model: 1, other: 0}}]\n";
  // 1 + .8 + .5 + .2 tokens for 12 + 3 ms, where a plain token takes 10.
  const std::string eagle =
      "  eagle: {synthetic_acceptance_rates: [.8, .5, .2], "
      "num_speculative_tokens: 3, rejection_sample_method: synthetic, "
      "drafter: small_model}\n";
  WriteText(file, costs + "rates:\n" + eagle +
                      "  free: {synthetic_acceptance_rates: [1, 1, 1]}\n");
  const std::string option = "--curve " + file;
  EXPECT_THAT(
      Report(option).out,
      AllOf(ContainsRegex("acceptance stated +draft tokens +tokens per pass "
                          "+predicted speedup\n"),
            ContainsRegex("\neagle +3 +2.50 +1.67x\n"),
            ContainsRegex("\nfree +3 +4.00 +3.33x\n"),
            HasSubstr("Predicted from the rates and costs of " + file)));
  EXPECT_THAT(Report(option + " --format markdown").out,
              HasSubstr("| eagle | 3 | 2.50 | 1.67x |"));
  // What export writes, a curve includes.
  const std::string rates = OwnFolder() + "/rates.json";
  ASSERT_EQ(Report("").code, 0);
  ASSERT_EQ(RunProgram("export " + OwnFolder() +
                       "/run.banyan --format acceptance --out " + rates)
                .code,
            0);
  WriteText(file, costs + "rates: !include rates.json\n");
  EXPECT_THAT(Report(option).out, ContainsRegex("\nmerged +[0-9]+ +[0-9.]+ "));

  const auto expect_refused = [&](const std::string& entry,
                                  const std::string& reason) {
    WriteText(file, costs + "rates:\n  a: " + entry + "\n");
    const Outcome outcome = Report(option);
    EXPECT_EQ(outcome.code, 2) << entry;
    EXPECT_THAT(outcome.err, HasSubstr(reason)) << entry;
  };
  expect_refused("{synthetic_acceptance_rates: []}",
                 "gpu.yaml:4:35: expected at least one rate");
  expect_refused("{synthetic_acceptance_rates: [.5, .6]}",
                 "expected probabilities that do not rise");
  expect_refused("{synthetic_acceptance_rates: [1.5]}", "found 1.5 after 1");
  expect_refused(
      "{synthetic_acceptance_rates: [.5], "
      "num_speculative_tokens: 2}",
      "expected 1, a rate for each draft token");
  expect_refused(
      "{synthetic_acceptance_rates: [.5], "
      "rejection_sample_method: strict}",
      "expected 'synthetic'");
  WriteText(file,
            "passes: [{ms: {1: 10, 100: 11}}]\n"
            "levels: [{ms: {small_model: 1, ngram: 0}}]\n"
            "rates: {a: {synthetic_acceptance_rates: [.5]}}\n");
  EXPECT_THAT(Report(option).err,
              HasSubstr("expected 'drafter', whose level counts; known: "
                        "ngram, small_model"));
}

TEST_F(ReportTest, PredictsNothingWithoutCosts) {
  EXPECT_THAT(Report("--all").out, Not(HasSubstr("by curve")));
  EXPECT_THAT(Report("--format html").out,
              AllOf(HasSubstr("\"curve\":null"),
                    Not(HasSubstr("\"predicted_by_curve\":{"))));
  for (const std::string name : {"predicted_by_curve", "oracle_by_curve"}) {
    const Outcome asked = Report("--metrics " + name);
    EXPECT_EQ(asked.code, 2);
    EXPECT_THAT(asked.err, HasSubstr(name + " needs --curve FILE"));
  }
}

TEST_F(ReportTest, WarnsOfTornTailsAndMissingPrompts) {
  WriteMadeRecords(OwnFolder() + "/run.banyan", {.gaps = true});
  WriteText(OwnFolder() + "/run.banyan",
            FileText(OwnFolder() + "/run.banyan") + "torn");
  const Outcome outcome = Report("--all");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("torn entry (4 bytes)"),
                                 HasSubstr("5 of 6 prompts are recorded")));
}

TEST_F(ReportTest, RefusesWhatIsNotThereWithTheNearestName) {
  const auto expect_refused = [](const std::string& options,
                                 const std::string& reason) {
    const Outcome outcome = Report(options);
    EXPECT_EQ(outcome.code, 2) << options;
    EXPECT_THAT(outcome.err, HasSubstr(reason)) << options;
    EXPECT_EQ(outcome.out, "") << options;
  };
  expect_refused("--metrics sped", "did you mean 'speed'?");
  expect_refused("--group temprature", "did you mean 'temperature'?");
  expect_refused("--reference chian", "did you mean 'chain'?");
  expect_refused("--reference plain --group nothing", "unknown axis");
  expect_refused("--format word", "--format");
  expect_refused("--out /no/such/folder/file",
                 "/no/such/folder/file: No such file");
  expect_refused("no/such/path", "no/such/path");
  expect_refused("--curve no/such.yaml", "no/such.yaml");
  const std::string file = OwnFolder() + "/costs.yaml";
  WriteText(file,
            "passes: [{ms: {1: 2, 300: 3}}]\nlevels: [{ms: {ngram: 1}}]\n");
  expect_refused("--curve " + file,
                 "costs.yaml:2:23: `levels` have no cost for 'small_model'");
}

TEST_F(ReportTest, RefusesAMethodThatIsTwiceInAGroup) {
  records::Context context = MadeContext({});
  context.mutable_cells(2)->set_method("chain");
  context.mutable_cells(1)->set_name("chain 0");
  WriteMadeRecords(OwnFolder() + "/run.banyan", {}, context);
  const Outcome outcome = Report("--reference chain");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err,
              HasSubstr("'chain 0' and 'merged' are both cells of method"));
}

// Shards of one run, the second with another number of threads.
class MachinesTest : public FolderTest {
 protected:
  MachinesTest() {
    for (const std::uint32_t shard : {0U, 1U}) {
      const MadeOptions options = {.prompts = 8, .shard = shard, .shards = 2};
      records::Context context = MadeContext(options);
      context.mutable_machine()->set_threads(2 - shard);
      WriteMadeRecords(absl::StrCat(OwnFolder(), "/shard", shard, ".banyan"),
                       options, context);
    }
  }
  static Outcome Report(const std::string& options) {
    return RunProgram("report " + OwnFolder() + " " + options);
  }
};

TEST_F(MachinesTest, AreEachReportedByThemselves) {
  const Outcome table = Report("--all --reference merged");
  EXPECT_EQ(table.code, 0) << table.err;
  EXPECT_THAT(table.err, HasSubstr("times are not alike (threads: 1 | 2)"));
  EXPECT_THAT(table.out,
              AllOf(ContainsRegex("machine 1\n.*plain, machine=1 +4 "),
                    ContainsRegex("machine 2\n.*plain, machine=2 +4 "),
                    HasSubstr("Differences are to merged, machine=1."),
                    HasSubstr("Differences are to merged, machine=2.")));
  const Outcome csv = Report("--format csv --metrics tokens_per_pass");
  EXPECT_THAT(
      csv.out,
      AllOf(HasSubstr("lossless,matrix.temperature,shape,machine,metric"),
            Not(HasSubstr("\nchain,"))));
}

TEST_F(MachinesTest, AreEachAnswered) {
  const Outcome answer = Report("");
  EXPECT_EQ(answer.code, 0) << answer.err;
  EXPECT_THAT(answer.out, AllOf(HasSubstr("machine 1, chain"),
                                HasSubstr("machine 2, chain"),
                                Not(HasSubstr("UNFINISHED"))));
}

TEST_F(MachinesTest, HaveNoFastestChainInCommon) {
  const Outcome counted = RunProgram("measure " + OwnFolder());
  EXPECT_EQ(counted.code, 0) << counted.err;
  EXPECT_THAT(counted.out,
              AllOf(HasSubstr("machine: 2 machines\n"),
                    HasSubstr("acceptance:\n"), Not(HasSubstr("chains:"))));
}

// Another experiment, made on another machine.
TEST_F(MachinesTest, AreNotHeldAgainstEachOther) {
  records::Context context = MadeContext({});
  context.set_experiment_hash("aabbccddeeff");
  context.mutable_machine()->set_threads(4);
  const std::string other = OwnFolder() + "/other";
  std::filesystem::create_directories(other);
  WriteMadeRecords(other + "/one.banyan", {}, context);
  const std::string both =
      other + " " + OwnFolder() + "/shard0.banyan --mixed --all --reference ";
  const Outcome refused = RunProgram("report " + both + "plain@aabbccdd");
  EXPECT_EQ(refused.code, 2) << refused.out;
  EXPECT_THAT(refused.err,
              AllOf(HasSubstr("--reference: 'plain@aabbccdd' was recorded on "
                              "machine "),
                    HasSubstr("expected a cell of the same machine")));
}

TEST_F(MachinesTest, AreNoOneRunToCompare) {
  const std::string command = "compare " + OwnFolder() + " " + OwnFolder();
  const Outcome refused = RunProgram(command);
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("one run of 2 machines"));
  EXPECT_EQ(RunProgram(command + " --mixed").code, 0);
}

TEST_F(ReportTest, PutsDifferentExperimentsSideBySideOnlyIfTold) {
  records::Context context = MadeContext({});
  context.set_experiment_hash("aabbccddeeff");
  WriteMadeRecords(OwnFolder() + "/other.banyan", {}, context);
  const Outcome outcome = Report("--all");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err,
              AllOf(HasSubstr("run.banyan"), HasSubstr("other.banyan"),
                    HasSubstr("different experiments")));
  EXPECT_THAT(Report("--mixed").out, HasSubstr("chain@aabbccdd"));
}

}  // namespace
}  // namespace banyan
