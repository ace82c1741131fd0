#include "experiments/report/compare.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "core/base/common.h"
#include "core/base/messages.h"
#include "experiments/metrics/catalogue.h"
#include "experiments/metrics/metric.h"
#include "experiments/records/machine.h"
#include "experiments/report/answer/verdict.h"

namespace banyan {

namespace {

// Bandwidth is measured with a few per cent of noise.
constexpr double kSameBandwidth = 0.1;
// Of an experiment that the other has not.
constexpr std::size_t kMostLines = 20;

bool SameBandwidth(double a, double b) {
  return std::fabs(a - b) <= kSameBandwidth * std::max(a, b);
}

std::string Gigabytes(double bytes_per_s) {
  return absl::StrCat(bytes_per_s / 1e9, " GB/s");
}

std::string TrunksText(const records::Cell& cell) {
  return absl::StrJoin(
      cell.trunks(), " + ", [](std::string* out, const records::Trunk& trunk) {
        absl::StrAppend(out, trunk.drafter(), " ", trunk.policy(), " ",
                        DrawKindName(trunk.draws()));
      });
}

// By model, the file of the tokens that it drafts. Empty: it takes none, or the
// record is older than what it drafts was written down.
std::string VocabulariesText(const records::Cell& cell) {
  std::vector<std::string> texts;
  for (const records::Trunk& trunk : cell.trunks())
    for (const records::DraftedTokens& drafted : trunk.drafted())
      texts.push_back(
          absl::StrCat(drafted.model(), " ",
                       drafted.file().empty() ? "all tokens" : drafted.file()));
  return absl::StrJoin(texts, ", ");
}

std::string ModelText(const records::Model& model) {
  return absl::StrCat(model.directory(), " ", model.weights());
}

std::string ModelsText(const records::Cell& cell) {
  return absl::StrJoin(
      cell.models(), ", ", [](std::string* out, const records::Model& model) {
        absl::StrAppend(out, model.name(), " ", ModelText(model));
      });
}

// Lines of an experiment that the other one has not, or not so often.
void AddLines(absl::string_view own, absl::string_view other,
              absl::string_view whose, std::vector<std::string>& out) {
  std::multiset<absl::string_view> missing = absl::StrSplit(own, '\n');
  const std::vector<absl::string_view> others = absl::StrSplit(other, '\n');
  for (const absl::string_view line : others) {
    const auto found = missing.find(line);
    if (found != missing.end()) missing.erase(found);
  }
  std::size_t shown = 0;
  const std::vector<absl::string_view> lines = absl::StrSplit(own, '\n');
  for (const absl::string_view line : lines) {
    const auto found = missing.find(line);
    if (found == missing.end()) continue;
    missing.erase(found);
    if (++shown > kMostLines) break;
    out.push_back(absl::StrCat("only in ", whose, "'s experiment: ",
                               absl::StripAsciiWhitespace(line)));
  }
}

}  // namespace

std::vector<std::string> ContextDifferences(const records::Context& a,
                                            const records::Context& b) {
  std::vector<std::string> out = MachineDifferences(a, b);
  if (!SameBandwidth(a.machine().bytes_per_s(), b.machine().bytes_per_s()))
    AddDifference("bandwidth", Gigabytes(a.machine().bytes_per_s()),
                  Gigabytes(b.machine().bytes_per_s()), out);
  AddDifference("workload", a.workload().hash(), b.workload().hash(), out);
  AddDifference("experiment", a.experiment_hash(), b.experiment_hash(), out);
  AddLines(a.experiment(), b.experiment(), "a", out);
  AddLines(b.experiment(), a.experiment(), "b", out);
  return out;
}

std::vector<std::string> CellDifferences(const records::Cell& a,
                                         const records::Cell& b) {
  std::vector<std::string> out;
  AddDifference("method", a.method(), b.method(), out);
  AddDifference("target", ModelText(a.target()), ModelText(b.target()), out);
  AddDifference("models", ModelsText(a), ModelsText(b), out);
  AddDifference("verifier", a.verifier(), b.verifier(), out);
  AddDifference("trunks", TrunksText(a), TrunksText(b), out);
  const std::string vocabularies = VocabulariesText(a);
  const std::string others = VocabulariesText(b);
  if (!vocabularies.empty() && !others.empty())
    AddDifference("draft vocabularies", vocabularies, others, out);
  AddDifference("rows", a.unmerged() ? "unmerged" : "merged",
                b.unmerged() ? "unmerged" : "merged", out);
  AddDifference("sampling", a.sampling(), b.sampling(), out);
  AddDifference("temperature", absl::StrCat(a.temperature()),
                absl::StrCat(b.temperature()), out);
  AddDifference("chat template", a.chat(), b.chat(), out);
  AddDifference("seed", absl::StrCat(a.seed()), absl::StrCat(b.seed()), out);
  AddDifference("prompts at a time", absl::StrCat(std::max(a.batch(), 1U)),
                absl::StrCat(std::max(b.batch(), 1U)), out);
  AddDifference("new tokens at most", absl::StrCat(a.max_new_tokens()),
                absl::StrCat(b.max_new_tokens()), out);
  for (std::string& difference : out)
    difference = absl::StrCat("cell ", a.name(), ", ", difference);
  return out;
}

namespace {

constexpr char kMachineOrMethod[] = "machine or method";
// What the speedups of two runs of one program differ by, as a share of the
// larger: what else a machine does slows short passes, long ones and drafting
// unequally, in part even where plain decoding takes as long as before, in part
// the more it drifted (docs/decisions.md has the recorded runs).
constexpr double kOwnShare = 0.12;
constexpr double kShareOfDrift = 0.1;  // of its logarithm

absl::Status CheckOneMachine(const RecordSet& set) {
  if (set.machines.size() == 1) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      set.machines[1].paths.front(), " and ", set.machines[0].paths.front(),
      ": one run of ", set.machines.size(),
      " machines, whose times cannot be added up; --mixed adds them all the "
      "same"));
}

absl::Status CheckAlike(const RecordSet& a, const RecordSet& b) {
  BANYAN_RETURN_IF_ERROR(CheckOneMachine(a));
  BANYAN_RETURN_IF_ERROR(CheckOneMachine(b));
  const RecordFile& file_a = a.files.front();
  const RecordFile& file_b = b.files.front();
  const auto check = [&](absl::string_view what, absl::string_view value_a,
                         absl::string_view value_b) {
    if (value_a == value_b) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        file_a.path, " and ", file_b.path, ": different ", what, " (", value_a,
        " and ", value_b, "); --mixed compares them all the same"));
  };
  BANYAN_RETURN_IF_ERROR(check("workloads", file_a.context.workload().hash(),
                               file_b.context.workload().hash()));
  BANYAN_RETURN_IF_ERROR(check("chat templates", file_a.context.cells(0).chat(),
                               file_b.context.cells(0).chat()));
  BANYAN_RETURN_IF_ERROR(check("devices", DeviceOf(file_a.context.machine()),
                               DeviceOf(file_b.context.machine())));
  BANYAN_RETURN_IF_ERROR(check("orders of sums",
                               SumsOf(file_a.context.machine()),
                               SumsOf(file_b.context.machine())));
  return check("instruction sets", file_a.context.machine().instruction_set(),
               file_b.context.machine().instruction_set());
}

std::vector<std::string> CommonCells(const RecordSet& a, const RecordSet& b) {
  std::vector<std::string> names;
  for (const CellRecords& cell : a.cells)
    if (b.Find(cell.name) != nullptr) names.push_back(cell.name);
  return names;
}

absl::StatusOr<std::vector<std::string>> ChooseCells(const RecordSet& a,
                                                     const RecordSet& b,
                                                     const std::string& cell) {
  std::vector<std::string> names = CommonCells(a, b);
  if (names.empty())
    return absl::InvalidArgumentError(
        absl::StrCat(a.files.front().path, " and ", b.files.front().path,
                     ": have no cell of one name"));
  if (cell.empty()) return names;
  const std::vector<absl::string_view> known(names.begin(), names.end());
  for (const std::string& name : names)
    if (name == cell) return std::vector<std::string>{cell};
  return absl::InvalidArgumentError(
      absl::StrCat("--cell: ", UnknownName("common cell", cell, known)));
}

// Over prompts that both have.
absl::StatusOr<std::optional<ComparedNumber>> CompareNumber(
    absl::string_view metric_name, const std::vector<PromptPair>& a,
    const std::vector<PromptPair>& b) {
  BANYAN_ASSIGN_OR_RETURN(const MetricRow* metric, FindMetric(metric_name));
  const KeyedEstimates in_a = EstimateAll(*metric, a);
  const KeyedEstimates in_b = EstimateAll(*metric, b);
  const KeyedEstimates differences = EstimateDifferences(*metric, b, a);
  std::optional<ComparedNumber> number;
  if (const auto found = differences.find(""); found != differences.end())
    number =
        ComparedNumber{in_a.at("").value, in_b.at("").value, found->second};
  return number;
}

using Pairs = std::vector<PromptPair>;

// The prompts that have a baseline in both.
std::pair<Pairs, Pairs> WithBaselines(const Pairs& a, const Pairs& b) {
  std::pair<Pairs, Pairs> both;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].baseline == nullptr || b[i].baseline == nullptr) continue;
    both.first.push_back(a[i]);
    both.second.push_back(b[i]);
  }
  return both;
}

std::string VerdictOn(const CellRecords& cell, const ComparedCell& compared) {
  if (cell.baseline.empty()) return "baseline";
  if (!compared.speed.has_value())
    return compared.ms_per_token.has_value() ? kMachineOrMethod : "undecided";
  const Estimate& difference = compared.speed->difference;
  Judgement verdict = Judgement::kUndecided;
  if (difference.interval.has_value() && difference.prompts >= kLeastPrompts) {
    if (difference.interval->low > 0) verdict = Judgement::kMore;
    if (difference.interval->high < 0) verdict = Judgement::kLess;
  }
  return std::string(SpeedWord(verdict));
}

// How the baseline of this name changed, which is told once; null if one of the
// two has no time of it.
absl::StatusOr<const BaselineDrift*> FindDrift(const std::string& name,
                                               const RecordSet& a,
                                               const RecordSet& b,
                                               Comparison& comparison) {
  for (const BaselineDrift& drift : comparison.drifts)
    if (drift.name == name) return &drift;
  const CellRecords* const in_a = a.Find(name);
  const CellRecords* const in_b = b.Find(name);
  if (in_a == nullptr || in_b == nullptr) return nullptr;
  BANYAN_ASSIGN_OR_RETURN(const MetricRow* ms, FindMetric("ms_per_token"));
  const CommonParts parts = CountCommon(*ms, in_a->pairs, in_b->pairs);
  const auto of_a = parts.a.find("");
  const auto of_b = parts.b.find("");
  if (of_a == parts.a.end() || of_b == parts.b.end()) return nullptr;
  std::vector<Part> ratios;
  for (std::size_t i = 0; i < of_a->second.size(); ++i)
    ratios.push_back({.over = of_b->second[i].over,
                      .under = of_b->second[i].under,
                      .base_over = of_a->second[i].over,
                      .base_under = of_a->second[i].under});
  const std::optional<Estimate> slower = EstimateOf(Form::kRelative, ratios);
  if (!slower.has_value()) return nullptr;
  comparison.drifts.push_back({name, *slower});
  return &comparison.drifts.back();
}

// Makes room for what two runs of one program differ by.
void Widen(const BaselineDrift* drift, ComparedNumber& speed) {
  auto& interval = speed.difference.interval;
  if (!interval.has_value()) return;
  const double drifted =
      drift == nullptr ? 0 : std::fabs(std::log(drift->slower.value));
  const double margin =
      (kOwnShare + kShareOfDrift * drifted) * std::max(speed.a, speed.b);
  interval->low -= margin;
  interval->high += margin;
}

absl::StatusOr<ComparedCell> CompareCell(const CellRecords& a,
                                         const CellRecords& b,
                                         const BaselineDrift* drift) {
  const auto [pairs_a, pairs_b] = CommonPrompts(a.pairs, b.pairs);
  ComparedCell cell = {.name = a.name,
                       .prompts = static_cast<int>(pairs_a.size())};
  BANYAN_ASSIGN_OR_RETURN(cell.ms_per_token,
                          CompareNumber("ms_per_token", pairs_a, pairs_b));
  BANYAN_ASSIGN_OR_RETURN(cell.tokens_per_pass,
                          CompareNumber("tokens_per_pass", pairs_a, pairs_b));
  if (!a.baseline.empty()) {
    const auto [based_a, based_b] = WithBaselines(pairs_a, pairs_b);
    BANYAN_ASSIGN_OR_RETURN(cell.speed,
                            CompareNumber("speed", based_a, based_b));
    if (cell.speed.has_value()) Widen(drift, *cell.speed);
  }
  cell.verdict = VerdictOn(a, cell);
  return cell;
}

void AddTexts(const std::optional<ComparedNumber>& number,
              std::vector<std::string>& row) {
  if (!number.has_value()) {
    row.insert(row.end(), 3, "-");
    return;
  }
  row.push_back(ShortNumber(number->a, Form::kRatio));
  row.push_back(ShortNumber(number->b, Form::kRatio));
  row.push_back(
      absl::StrCat(ShortDifference(number->difference.value, Form::kRatio), " ",
                   ShortInterval(number->difference, Form::kRatio)));
}

JsonValue LowOf(const Estimate& estimate) {
  return estimate.interval.has_value() ? JsonValue(estimate.interval->low)
                                       : JsonValue();
}

JsonValue HighOf(const Estimate& estimate) {
  return estimate.interval.has_value() ? JsonValue(estimate.interval->high)
                                       : JsonValue();
}

JsonValue NumberToJson(const std::optional<ComparedNumber>& number) {
  if (!number.has_value()) return nullptr;
  return {{"a", number->a},
          {"b", number->b},
          {"difference", number->difference.value},
          {"low", LowOf(number->difference)},
          {"high", HighOf(number->difference)}};
}

std::string DriftText(const BaselineDrift& drift) {
  const bool slower = drift.slower.value >= 1;
  std::string text = absl::StrCat(
      drift.name, ": ", ShortNumber(drift.slower.value, Form::kRatio));
  if (drift.slower.interval.has_value())
    absl::StrAppend(&text, " ", ShortInterval(drift.slower, Form::kRatio));
  return absl::StrCat(
      text, " times the time per token in b, so b is ",
      slower ? "slower" : "faster",
      ". That comes from the machine, or from what all methods share.");
}

bool HasUndecided(const Comparison& comparison) {
  return std::any_of(comparison.cells.begin(), comparison.cells.end(),
                     [](const ComparedCell& cell) {
                       return cell.verdict == kMachineOrMethod;
                     });
}

}  // namespace

absl::StatusOr<Comparison> Compare(const RecordSet& a, const RecordSet& b,
                                   const CompareOptions& options) {
  // First, because a run may have no cell at all.
  BANYAN_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                          ChooseCells(a, b, options.cell));
  if (!options.mixed) BANYAN_RETURN_IF_ERROR(CheckAlike(a, b));
  Comparison comparison = {
      .differences =
          ContextDifferences(a.files.front().context, b.files.front().context)};
  std::set<std::string> files;  // that were told: cells share most
  for (const std::string& name : names) {
    const CellRecords& cell_a = *a.Find(name);
    const CellRecords& cell_b = *b.Find(name);
    BANYAN_ASSIGN_OR_RETURN(
        const BaselineDrift* drift,
        FindDrift(cell_a.baseline.empty() ? name : cell_a.baseline, a, b,
                  comparison));
    BANYAN_ASSIGN_OR_RETURN(ComparedCell cell,
                            CompareCell(cell_a, cell_b, drift));
    comparison.cells.push_back(std::move(cell));
    for (std::string& difference : CellDifferences(*cell_a.cell, *cell_b.cell))
      comparison.differences.push_back(std::move(difference));
    for (const FileDifference& file :
         DifferingFiles(*cell_a.cell, *cell_b.cell))
      if (files.insert(file.path).second)
        AddDifference(absl::StrCat("file ", file.path), file.a, file.b,
                      comparison.differences);
  }
  return comparison;
}

Table ToTable(const Comparison& comparison) {
  Table table = {
      .header = {"cell", "verdict on b", "prompts", "speed: a", "b", "b - a",
                 "tokens per pass: a", "b", "b - a", "ms per token: a", "b"},
      .text_columns = 2,
      .sections = {Table::Section{}}};
  for (const ComparedCell& cell : comparison.cells) {
    std::vector<std::string> row = {cell.name, cell.verdict,
                                    absl::StrCat(cell.prompts)};
    AddTexts(cell.speed, row);
    AddTexts(cell.tokens_per_pass, row);
    AddTexts(cell.ms_per_token, row);
    row.pop_back();  // it is the machine's difference too
    table.sections.front().rows.push_back(std::move(row));
  }
  table.notes.emplace_back(
      "speed: over plain decoding of the same run on the same prompts; "
      "verdicts "
      "are on it.");
  table.notes.emplace_back(
      "[low, high]: 95 % intervals over the prompts that both have "
      "(a chat or a batch is one), paired; those of speed are 12 % wider on "
      "either side, and more where plain decoding drifted, for what two runs "
      "of one program differ by.");
  for (const BaselineDrift& drift : comparison.drifts)
    table.notes.push_back(DriftText(drift));
  if (HasUndecided(comparison))
    table.notes.emplace_back(
        "machine or method: without plain decoding of the same prompts in both "
        "runs, a slower machine cannot be told from a slower method.");
  for (const std::string& difference : comparison.differences)
    table.notes.push_back(absl::StrCat("Differs: ", difference));
  return table;
}

JsonValue ToJson(const Comparison& comparison) {
  JsonValue cells = JsonValue::List();
  for (const ComparedCell& cell : comparison.cells)
    cells.Add({{"name", cell.name},
               {"prompts", cell.prompts},
               {"verdict", cell.verdict},
               {"speed", NumberToJson(cell.speed)},
               {"ms_per_token", NumberToJson(cell.ms_per_token)},
               {"tokens_per_pass", NumberToJson(cell.tokens_per_pass)}});
  JsonValue drifts = JsonValue::List();
  for (const BaselineDrift& drift : comparison.drifts)
    drifts.Add({{"name", drift.name},
                {"slower", drift.slower.value},
                {"low", LowOf(drift.slower)},
                {"high", HighOf(drift.slower)}});
  return {{"cells", std::move(cells)},
          {"baselines", std::move(drifts)},
          {"differences", comparison.differences}};
}

}  // namespace banyan
