// banyan exact: the exact output distribution of a method on a toy model.
#include <algorithm>
#include <cstddef>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "configs/loader/yaml.h"
#include "core/base/common.h"
#include "core/base/input_files.h"
#include "core/base/output_files.h"
#include "core/base/params.h"
#include "core/base/token.h"
#include "core/json/json_value.h"
#include "decode/method.h"
#include "decode/proofs.h"
#include "experiments/commands/commands.h"
#include "experiments/commands/shared/command_line.h"
#include "experiments/plan/build_method.h"
#include "experiments/proof/exact_law.h"
#include "tree/draft_tree.h"

namespace banyan {
namespace {

// Sums of up to a million products of some twenty factors, each rounded to
// 1e-16.
constexpr double kRounding = 1e-9;

bool ClaimsLossless(const ExactFile& file) {
  return file.control.empty() && IsLossless(file.decoder->method());
}

std::vector<double> Conditional(const std::vector<double>& acceptance) {
  std::vector<double> result;
  double before = 1;
  for (double now : acceptance) {
    result.push_back(before > 0 ? now / before : 0);
    before = now;
  }
  return result;
}

JsonValue ToJson(const StringLaw& law) {
  JsonValue object = JsonValue::Object();
  for (const auto& [text, probability] : law)
    object[absl::StrJoin(text, ",")] = probability;
  return object;
}

JsonValue ToJson(const ExactFile& file, const ExactLaw& law) {
  const Method& method = file.decoder->method();
  JsonValue out;
  out["verifier"] = method.verifier_name;
  out["trunks"] = TrunksToJson(method);
  if (!file.control.empty()) out["control"] = file.control;
  out["lossless_claimed"] = ClaimsLossless(file);
  out["max_abs_error"] = law.max_abs_error;
  out["total_variation"] = law.total_variation;
  out["expected_tokens_per_round"] = law.expected_tokens_per_round;
  out["acceptance_per_depth"] = law.acceptance_per_depth;
  out["conditional_acceptance_per_depth"] =
      Conditional(law.acceptance_per_depth);
  out["branches"] = law.branches;
  out["distribution"] = ToJson(law.law);
  out["target_distribution"] = ToJson(law.target_law);
  return out;
}

// The strings with the largest errors, then the most probable.
void PrintStrings(const ExactLaw& law) {
  constexpr std::size_t kShown = 32;
  struct Line {
    std::string text;
    double method;
    double target;
  };
  std::vector<Line> lines;
  for (const auto& [text, target] : law.target_law)
    lines.push_back({absl::StrJoin(text, ","), law.law.at(text), target});
  if (lines.size() > kShown)
    std::stable_sort(
        lines.begin(), lines.end(),
        [](const Line& a, const Line& b) { return a.target > b.target; });
  std::cout << absl::StreamFormat("  %-16s%12s%12s%14s\n", "string", "method",
                                  "target", "difference");
  for (std::size_t i = 0; i < std::min(lines.size(), kShown); ++i)
    std::cout << absl::StreamFormat(
        "  %-16s%12.6f%12.6f%+14.1e\n", lines[i].text, lines[i].method,
        lines[i].target, lines[i].method - lines[i].target);
  if (lines.size() > kShown)
    std::cout << "  and " << lines.size() - kShown
              << " less probable strings (--json prints all)\n";
}

std::string Numbers(const std::vector<double>& values) {
  return absl::StrJoin(values, "  ", [](std::string* out, double value) {
    absl::StrAppendFormat(out, "%.6f", value);
  });
}

void PrintText(const ExactFile& file, const ExactLaw& law) {
  const Method& method = file.decoder->method();
  std::cout << "verifier " << method.verifier_name << "\n";
  for (std::size_t i = 0; i < method.trunks.size(); ++i)
    std::cout << "trunk " << i << ": drafter " << method.trunks[i].drafter_name
              << ", policy " << method.trunks[i].policy_name << ", "
              << Name(method.trunks[i].draw_kind) << " draws\n";
  if (!file.control.empty())
    std::cout << "control " << file.control << " (broken on purpose)\n";
  std::cout << "\n";
  PrintStrings(law);
  std::cout << absl::StreamFormat("\n  %-28s%s\n", "lossless claimed",
                                  ClaimsLossless(file) ? "yes" : "no");
  std::cout << absl::StreamFormat("  %-28s%.3e\n", "largest error",
                                  law.max_abs_error);
  std::cout << absl::StreamFormat("  %-28s%.3e\n", "total variation",
                                  law.total_variation);
  std::cout << absl::StreamFormat("  %-28s%.6f\n", "expected tokens per round",
                                  law.expected_tokens_per_round);
  std::cout << absl::StreamFormat("  %-28s%s\n", "acceptance per depth",
                                  Numbers(law.acceptance_per_depth));
  std::cout << absl::StreamFormat(
      "  %-28s%s\n", "  given the depth before",
      Numbers(Conditional(law.acceptance_per_depth)));
  std::cout << absl::StreamFormat("  %-28s%d\n", "branches", law.branches);
}

struct Result {
  std::string path;
  ExactFile file;
  ExactLaw law;
};

absl::StatusOr<Result> Compute(const std::string& path) {
  BANYAN_ASSIGN_OR_RETURN(const Params params, LoadYamlFile(path));
  BANYAN_ASSIGN_OR_RETURN(ExactFile file, ReadExactFile(params));
  absl::StatusOr<ExactLaw> law =
      ComputeExactLaw(*file.target, *file.decoder, file.options);
  if (!law.ok()) {
    const Params* limit = params.Find("max_branches");
    return (limit != nullptr ? *limit : params).Error(law.status().message());
  }
  return Result{path, std::move(file), *std::move(law)};
}

absl::Status CheckClaim(const Result& result) {
  if (!ClaimsLossless(result.file) || result.law.max_abs_error <= kRounding)
    return absl::OkStatus();
  return absl::InternalError(absl::StrCat(
      result.path,
      ": the method claims to be lossless, but its output distribution is off "
      "by ",
      result.law.max_abs_error));
}

// Where the proof record is, from the project's root.
constexpr char kRecordPath[] = "decode/proofs.txt";
constexpr std::size_t kMostRecordBytes = std::size_t{1} << 24;

// Puts what was proven into the record, in the place of an older line of the
// same pair. A line of the test suite that is not stale has more pairings and
// stays.
absl::Status AddProofs(const Result& result, std::vector<ProofLine>& record) {
  if (!ClaimsLossless(result.file))
    return absl::FailedPreconditionError(absl::StrCat(
        result.path,
        ": --record: expected a method that claims to be lossless"));
  for (ProofPair& pair : PairsOf(result.file.decoder->method())) {
    // Its drafters are numbered tables, from which small models draft.
    if (pair.kind == "drafter") pair.part = "small_model";
    const std::string hashes = CurrentHashes(pair);
    if (hashes.empty())
      return absl::FailedPreconditionError(absl::StrCat(
          result.path, ": --record: verifier ", pair.verifier, " and ",
          pair.kind, " ", pair.part,
          " were not both in the catalogues when this program was built"));
    const auto same =
        std::find_if(record.begin(), record.end(),
                     [&](const ProofLine& line) { return line.pair == pair; });
    if (same != record.end() && same->hashes == hashes) continue;
    ProofLine line = {std::move(pair), 1, hashes,
                      absl::StrCat("banyan exact ", result.path)};
    std::cerr << "banyan: recorded " << ToText(line) << "\n";
    if (same != record.end())
      *same = std::move(line);
    else
      record.push_back(std::move(line));
  }
  return absl::OkStatus();
}

absl::Status Record(const std::vector<Result>& results) {
  BANYAN_ASSIGN_OR_RETURN(const std::string text,
                          ReadFile(kRecordPath, kMostRecordBytes));
  std::vector<ProofLine> record = ReadProofs(text);
  for (const Result& result : results)
    BANYAN_RETURN_IF_ERROR(AddProofs(result, record));
  std::string renewed;
  for (absl::string_view line : absl::StrSplit(text, '\n'))
    if (absl::StartsWith(line, "#")) absl::StrAppend(&renewed, line, "\n");
  for (const ProofLine& line : record)
    absl::StrAppend(&renewed, ToText(line), "\n");
  BANYAN_ASSIGN_OR_RETURN(const std::unique_ptr<OutputFile> file,
                          OutputFile::Open(kRecordPath));
  BANYAN_RETURN_IF_ERROR(file->Append(renewed));
  BANYAN_RETURN_IF_ERROR(file->Finish());
  std::cerr << "banyan: " << kRecordPath
            << ": written; programs built from now on know of it\n";
  return absl::OkStatus();
}

void PrintJson(const std::vector<Result>& results) {
  std::vector<JsonValue> list;
  for (const Result& result : results)
    list.emplace_back(ToJson(result.file, result.law))["file"] = result.path;
  std::cout << (list.size() == 1 ? list[0] : JsonValue(list)).Text(2) << "\n";
}

// One line a file, for comparing methods.
void PrintTable(const std::vector<Result>& results) {
  std::size_t width = 4;
  for (const Result& result : results)
    width = std::max(width, result.path.size());
  const int column = static_cast<int>(width);
  std::cout << absl::StreamFormat("%-*s  %-20s%-9s%14s%11s%10s\n", column,
                                  "file", "verifier", "claim", "tokens/round",
                                  "tv", "branches");
  for (const Result& result : results) {
    const bool broken = !result.file.control.empty();
    const bool lossless = ClaimsLossless(result.file);
    std::cout << absl::StreamFormat(
        "%-*s  %-20s%-9s%14.6f%11.1e%10d\n", column, result.path,
        result.file.decoder->method().verifier_name,
        broken ? "broken" : (lossless ? "lossless" : "lossy"),
        result.law.expected_tokens_per_round, result.law.total_variation,
        result.law.branches);
  }
}

struct Options {
  std::vector<std::string> files;
  bool json = false;
  bool record = false;
};

absl::Status Exact(const Options& options) {
  std::vector<Result> results;
  for (const std::string& path : options.files) {
    BANYAN_ASSIGN_OR_RETURN(Result result, Compute(path));
    results.push_back(std::move(result));
  }
  if (options.json) {
    PrintJson(results);
  } else if (results.size() == 1) {
    PrintText(results[0].file, results[0].law);
  } else {
    PrintTable(results);
  }
  for (const Result& result : results)
    BANYAN_RETURN_IF_ERROR(CheckClaim(result));
  return options.record ? Record(results) : absl::OkStatus();
}

}  // namespace

void AddExactCommand(CommandLine& line) {
  Command command = line.Add(
      {.name = "exact",
       .sentence =
           "Computes a method's exact output distribution on a toy model.",
       .more = "It enumerates every outcome. For several files it prints "
               "a table.",
       .example = "  banyan exact configs/exact/tree_multi_round.yaml"});
  const auto options = std::make_shared<Options>();
  command
      .Option("FILE", &options->files,
              "YAML: vocab, horizon, target, drafters, policy or trunks, "
              "verifier; optional sampling, control, max_branches "
              "(docs/formats.md; examples in configs/exact).")
      .Required();
  command.Flag("--json", &options->json,
               "Print JSON: an object, or a list of them.");
  command.Flag("--record", &options->record,
               "Add what was proven to the proof record, decode/proofs.txt, "
               "from the project's root. Runs of a program built after that "
               "call such methods proven.");
  command.OnCall([options] { return Exact(*options); });
}

}  // namespace banyan
