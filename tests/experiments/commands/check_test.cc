// banyan check: what is wrong with an experiment is told with its place in the
// file, and before anything that takes long.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/experiments/run_program.h"

namespace banyan {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr char kGood[] =
    "question: q\n"
    "target: {directory: MODELS/pycode-target}\n"
    "workload: {file: WORKLOADS/pycode.jsonl, prompts: 1}\n"
    "methods:\n"
    "  a:\n"
    "    models: {d: {directory: MODELS/pycode-draft-1}}\n"
    "    drafters: [{name: small_model, model: d}]\n"
    "    policy: {name: chain, nodes: 2}\n"
    "    verifier: {name: multi_round}\n";

constexpr char kTable[] =
    "costs:\n"
    "  acceptance:\n"
    "  - {target: pycode-target, weights: bf16, drafters: [pycode-draft-1],\n"
    "     temperature: 1, draws: [independent], rounds: 9,\n"
    "     counts: [{depth: 1, judged: [9, 4], accepted: [5, 2]}]}\n";

std::string WithPaths(const std::string& text) {
  return absl::StrReplaceAll(
      text, {{"MODELS", std::filesystem::absolute("models").string()},
             {"WORKLOADS",
              std::filesystem::absolute("experiments/workloads").string()}});
}

// With these texts in the place of others, and `rest` at its end.
std::string Edited(
    const std::vector<std::pair<std::string, std::string>>& edits,
    const std::string& rest) {
  std::string text = absl::StrCat(kGood, rest);
  for (const auto& [from, to] : edits) {
    EXPECT_THAT(text, HasSubstr(from));
    text = absl::StrReplaceAll(text, {{from, to}});
  }
  return WithPaths(text);
}

struct Wrong {
  std::vector<std::pair<std::string, std::string>> edits;
  std::string rest;
  std::string place;  // the text that stands there
  std::string told;
};

// The line and column of the first `part` in the text.
std::string PlaceOf(const std::string& text, const std::string& part) {
  const std::size_t at = text.find(part);
  EXPECT_NE(at, std::string::npos) << part;
  const std::string before = text.substr(0, at);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t begin = before.rfind('\n') + 1;  // npos + 1 is 0
  return absl::StrCat(line, ":", at - begin + 1);
}

void ExpectTold(const Wrong& wrong) {
  const std::string text = Edited(wrong.edits, wrong.rest);
  const std::string file = WriteTestFile(text);
  const Outcome outcome = RunProgram("check " + file);
  EXPECT_EQ(outcome.code, 2) << text << outcome.output;
  EXPECT_THAT(outcome.err,
              HasSubstr(absl::StrCat(
                  file, ":", PlaceOf(text, WithPaths(wrong.place)), ": ")))
      << text;
  EXPECT_THAT(outcome.err, HasSubstr(wrong.told)) << text;
  EXPECT_THAT(outcome.err, Not(HasSubstr("measuring"))) << text;
}

TEST(CheckCommand, SaysWhereAModelOrAWorkloadIsNamedThatIsNotThere) {
  const std::vector<Wrong> all = {
      {{{"MODELS/pycode-target", "no/model"}},
       "",
       "no/model",
       "no/model'; a model is a directory"},
      {{}, "matrix: {target.directory: [no/model]}\n", "no/model", "no/model"},
      {{{"pycode-target}", "pycode-target, memory: 9MB}"}},
       "",
       "MODELS/pycode-target",
       "expected a packed model"},
      {{{"pycode.jsonl", "none.jsonl"}},
       "",
       "WORKLOADS/none",
       "none.jsonl: No such file"},
      {{{"prompts: 1}", "prompts: 1000}"}},
       "",
       "1000",
       "expected 1000 prompts or more"},
      {{{"prompts: 1}", "kinds: [poems]}"}},
       "",
       "[poems]",
       "unknown kind of prompt 'poems'"},
      {{{"prompts: 1}", "groups: {g: [poems]}}"}},
       "",
       "[poems]",
       "unknown kind of prompt 'poems'"},
      {{{"prompts: 1}", "groups: {g: [edit], h: [edit]}}"}},
       "",
       "[edit]}}",
       "the kind 'edit' is in a group already, 'g'"},
      {{{"prompts: 1}", "chat: auto}"}},
       "",
       "auto}",
       "workload.chat: the model has no chat template"},
  };
  for (const Wrong& wrong : all) ExpectTold(wrong);
}

TEST(CheckCommand, SaysWhereAMethodIsWrongThatTheProgramCompleted) {
  const std::pair<std::string, std::string> of_auto = {
      "{name: chain, nodes: 2}",
      "{name: auto, nodes: 24, acceptance: [0.5], target_ms: {1: 1, 65: 2}}"};
  const std::vector<Wrong> all = {
      {{of_auto},
       "batch: 16\n",
       "{name: auto",
       "policy auto: target_ms is needed at 400 tokens but given from 1 to 65"},
      {{{"  a:\n",
         "  b:\n"
         "    drafters: [{name: ngram}]\n"
         "    policy: {name: chain, nodes: 2}\n"
         "    verifier: {name: multi_round}\n"
         "  a:\n"}},
       "compare: {reference: a}\n"
       "matrix: {methods.a.policy.nodes: [1, 2]}\n",
       "a}\nmatrix",
       "compare.reference: method a has 2 cells beside b, expected one"},
      {{{"chain, nodes: 2", "expansion, branching: [2, 2]"}},
       "compare:\n"
       "  chains:\n"
       "    chains:\n"
       "    - {target: pycode-target, drafter: pycode-draft-1,\n"
       "       temperature: 1, speed: 2, length: 100000}\n",
       "100000",
       "'length' must lie between 1 and 4096, found '100000'"},
  };
  for (const Wrong& wrong : all) ExpectTold(wrong);
}

// Before anything is measured, which takes seconds.
TEST(CheckCommand, SaysWhereMeasuredCannotBeFilledIn) {
  const auto policy = [](const std::string& other) {
    return std::pair<std::string, std::string>("{name: chain, nodes: 2}",
                                               other);
  };
  const std::vector<Wrong> all = {
      {{policy("{name: chain, nodes: 2, target_ms: measured}")},
       kTable,
       "measured}",
       "policy chain: only these policies read `target_ms: measured`, to "
       "choose a tree by its costs: sequoia, auto"},
      {{policy("{name: sequoia, nodes: measured}"),
        {"drafters: [pycode-draft-1]", "drafters: [other]"}},
       kTable,
       "{name: small_model",
       "costs: no acceptance of drafter pycode-draft-1; the tables have other"},
      {{policy("{name: sequoia, nodes: measured}"),
        {"judged: [9, 4]", "judged: [9, 5]"}},
       kTable,
       "{target: pycode-target, weights",
       "acceptance: at depth 1 5 draws of rank 2 were judged, but only 4 of "
       "the "
       "rank before were refused"},
      {{policy("{name: sequoia, nodes: measured}"),
        {"  a:\n",
         "  b:\n"
         "    models: {e: {heads: no/heads}}\n"
         "    drafters: [{name: eagle, head: e}]\n"
         "    policy: {name: chain, nodes: 2}\n"
         "    verifier: {name: multi_round}\n"
         "  a:\n"}},
       kTable,
       "no/heads",
       "no/heads' is not a directory"},
      {{policy("{name: sequoia, nodes: measured}"),
        {"  a:\n",
         "  b:\n"
         "    models: {e: {directory: no/draft.pack}}\n"
         "    drafters: [{name: small_model, model: e}]\n"
         "    policy: {name: chain, nodes: 2}\n"
         "    verifier: {name: multi_round}\n"
         "  a:\n"}},
       kTable,
       "no/draft.pack",
       "model: there is no '"},
  };
  for (const Wrong& wrong : all) ExpectTold(wrong);
}

TEST(CheckCommand, SaysWhichPolicyHasNoTreeAtMeasuredCosts) {
  const std::string text =
      Edited({{"{name: chain, nodes: 2}",
               "{name: sequoia, nodes: measured, levels: -1}"}},
             kTable);
  // Costs of stand-ins.
  const Outcome outcome = RunProgram("check --resolved " + WriteTestFile(text));
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr(".yaml:8:13: "),
                                 HasSubstr("policy sequoia: levels is -1")));
}

}  // namespace
}  // namespace banyan
