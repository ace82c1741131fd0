#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_replace.h"
#include "core/base/common.h"
#include "core/base/messages.h"
#include "experiments/metrics/catalogue.h"
#include "experiments/metrics/estimate.h"
#include "experiments/metrics/metric.h"
#include "experiments/metrics/round_figures.h"
#include "experiments/records/machine.h"
#include "experiments/records/record.pb.h"
#include "experiments/records/record_set.h"
#include "experiments/report/answer/answer.h"
#include "experiments/report/answer/verdict.h"

namespace banyan {
namespace {

// Of names in one sentence; the rest is counted.
constexpr std::size_t kMostNames = 4;

// Returns whether no round drafted more than one token.
bool DraftsOneToken(const CellRecords& cell) {
  int most = 0;
  for (const PromptPair& pair : cell.pairs)
    for (const records::Round& round : pair.record->rounds())
      most = std::max(most, DraftedNodes(round));
  return most == 1;
}

std::string Names(const std::vector<std::string>& names) {
  const std::size_t shown = std::min(names.size(), kMostNames);
  // A name with axes in it has commas of its own.
  const bool commas = std::any_of(
      names.begin(), names.end(),
      [](const std::string& name) { return absl::StrContains(name, ", "); });
  std::string text =
      absl::StrJoin(names.begin(), names.begin() + static_cast<long>(shown),
                    commas ? "; " : ", ");
  if (shown < names.size())
    absl::StrAppend(&text, " and ", names.size() - shown, " more");
  return text;
}

std::string Are(int count) {
  return absl::StrCat(count, count == 1 ? " is" : " are");
}

std::string With(const Estimate& estimate) {
  std::string text = absl::StrFormat("%.2fx", estimate.value);
  if (estimate.interval.has_value())
    absl::StrAppendFormat(&text, " [%.2f, %.2f]", estimate.interval->low,
                          estimate.interval->high);
  return text;
}

// Whether yes or no is an answer: the question begins as such questions do.
bool AsksYesOrNo(const std::string& question) {
  const std::string first =
      absl::AsciiStrToLower(question.substr(0, question.find_first_of(" ,")));
  static constexpr absl::string_view kVerbs[] = {
      "do",  "does", "did", "is",   "are",   "was",   "were",
      "can", "will", "has", "have", "would", "should"};
  return std::find(std::begin(kVerbs), std::end(kVerbs), first) !=
         std::end(kVerbs);
}

// All entries of the target at the temperature.
std::vector<const AnswerEntry*> EntriesAt(const TargetAnswer& target,
                                          double temperature) {
  std::vector<const AnswerEntry*> entries;
  for (const AnswerRow& row : target.rows)
    if (const auto found = row.at.find(temperature); found != row.at.end())
      entries.push_back(&found->second);
  return entries;
}

constexpr absl::string_view kPlainDecoding = "plain decoding";

// What the rivals that the question is about are held against.
std::string Opposed(const std::vector<const AnswerEntry*>& entries,
                    const TemperatureAnswer& at) {
  if (at.trees) return "the chains of its own drafters";
  std::set<std::string> names;
  for (const AnswerEntry* entry : entries)
    if (entry->reference.has_value())
      names.insert(entry->reference->other.cell->cell->trunks_size() == 0
                       ? std::string(kPlainDecoding)
                       : entry->reference->other.name);
  return names.size() == 1 ? *names.begin() : "the reference beside it";
}

// "trees", if all that are counted are.
std::string Noun(const std::vector<const AnswerEntry*>& entries,
                 const TemperatureAnswer& at) {
  const bool trees =
      at.trees ||
      std::all_of(entries.begin(), entries.end(), [](const AnswerEntry* entry) {
        return IsTree(*entry->own.cell->cell);
      });
  return trees ? "tree" : "method";
}

// What more and less of a number are called.
struct ScoreWords {
  const char* more;
  const char* less;
};
constexpr ScoreWords kOfSpeed = {"faster than ", "slower"};
constexpr ScoreWords kOfTokens = {"above ", "below"};

// "none of 7 trees is faster than X; 1 is slower, 6 are undecided".
std::string ScoreText(const Score& score, const std::string& noun,
                      const std::string& opposed, const ScoreWords& said) {
  if (score.all == 1)
    return absl::StrCat("the ", noun, " is ",
                        score.more == 1   ? said.more
                        : score.less == 1 ? absl::StrCat(said.less, " beside ")
                                          : "undecided beside ",
                        opposed);
  const std::string of_several = absl::StrReplaceAll(
      opposed, {{" its own drafters", " their own drafters"}});
  if (score.undecided() == score.all)
    return absl::StrCat(
        score.all == 2 ? "both " : absl::StrCat("all ", score.all, " "), noun,
        "s are undecided beside ", of_several);
  const std::string all = absl::StrCat("of ", score.all, " ", noun, "s");
  std::string text =
      score.more == 0
          ? absl::StrCat("none ", all, " is ", said.more, opposed)
          : absl::StrCat(score.more, " ", all,
                         score.more == 1 ? " is " : " are ", said.more,
                         score.more == 1 ? opposed : of_several, " (",
                         Names(score.winners), ")");
  std::vector<std::string> others;
  if (score.less > 0)
    others.push_back(absl::StrCat(Are(score.less), " ", said.less));
  if (score.undecided() > 0)
    others.push_back(absl::StrCat(Are(score.undecided()), " undecided"));
  if (!others.empty())
    absl::StrAppend(&text, "; ", absl::StrJoin(others, ", "));
  return text;
}

// By whom the reference, a chain, was beaten in this run.
std::string FasterChains(const TemperatureAnswer& at) {
  if (at.faster_chains.empty()) return "";
  std::vector<std::string> names;
  for (const CellNumbers& chain : at.faster_chains)
    names.push_back(chain.speed.has_value()
                        ? absl::StrCat(chain.name, " ", With(*chain.speed))
                        : chain.name);
  return absl::StrCat(
      " The reference was not the fastest chain: ", Names(names),
      names.size() == 1 ? " was" : " were", " faster.");
}

std::string VerdictSentence(bool yes_or_no,
                            const std::vector<const AnswerEntry*>& entries,
                            const TemperatureAnswer& at) {
  if (at.noise.differs)
    return absl::StrCat(
        "speeds are withdrawn: plain decoding a second time was ",
        With(*at.noise.speed),
        " as fast as the first, so differences of speed may be the machine's.");
  const Score& score = at.speed;
  const char* said = score.more > 0 ? "yes, " : score.less > 0 ? "no, " : "";
  return absl::StrCat(
      yes_or_no ? said : "",
      ScoreText(score, Noun(entries, at), Opposed(entries, at), kOfSpeed), " (",
      Counted(at.prompts, "prompt"),
      at.prompts < kLeastPrompts
          ? absl::StrCat(", and a verdict needs at least ", kLeastPrompts)
          : "",
      ", this machine).", FasterChains(at));
}

std::string OutlookText(const Outlook& outlook) {
  const Score& score = outlook.score;
  if (score.all == 0) return "";
  if (score.undecided() == score.all)
    return absl::StrCat("undecided ", outlook.where);
  if (score.more == 0)
    return absl::StrCat("none of ", score.all, " ", outlook.where);
  return absl::StrCat(score.more, " of ", score.all, " ", outlook.where, " (",
                      Names(score.winners), ")");
}

std::string TravelSentence(const std::vector<const AnswerEntry*>& entries,
                           const TemperatureAnswer& at) {
  std::vector<std::string> outlooks;
  bool decided = false;
  for (const Outlook& outlook : at.outlooks) {
    if (std::string text = OutlookText(outlook); !text.empty())
      outlooks.push_back(std::move(text));
    decided = decided || outlook.score.undecided() < outlook.score.all;
  }
  const std::string opposed = at.trees ? "a chain of as many nodes of its own "
                                         "drafters"
                                       : Opposed(entries, at);
  std::string text;
  // Of plain decoding they are one, which needs no saying.
  if (opposed != kPlainDecoding)
    text = absl::StrCat(
        "Tokens per pass are the same on every machine: there ",
        ScoreText(at.tokens_per_pass, Noun(entries, at), opposed, kOfTokens),
        ".");
  if (outlooks.empty()) return text;
  if (!text.empty()) text += " ";
  absl::StrAppend(&text,
                  decided
                      ? absl::StrCat("Predicted to be faster by the costs that "
                                     "ship with the program: ",
                                     absl::StrJoin(outlooks, ", "))
                      : "Predictions from the costs that ship with the program "
                        "are undecided too",
                  ".");
  return text;
}

// Every entry on a target, with the row's name.
void ForEntries(
    const TargetAnswer& target,
    const std::function<void(const std::string&, const AnswerEntry&)>& visit) {
  for (const AnswerRow& row : target.rows)
    for (const auto& [temperature, entry] : row.at) visit(row.name, entry);
}

void AddReference(const RecordSet& set, std::vector<std::string>& notes) {
  const std::string& choice = set.files.front().context.reference_choice();
  if (!choice.empty())
    notes.push_back(absl::StrCat("The reference is ", choice, "."));
}

// How two runs of one thing differ, or that nobody looked.
void AddNoise(const TargetAnswer& target, bool named,
              std::vector<std::string>& notes) {
  std::vector<std::string> texts;
  for (const auto& [temperature, at] : target.at)
    texts.push_back(at.noise.speed.has_value()
                        ? absl::StrFormat("%s at T = %g", With(*at.noise.speed),
                                          temperature)
                        : "");
  const std::string on = named ? absl::StrCat(" on ", target.name) : "";
  if (std::count(texts.begin(), texts.end(), "") > 0)
    notes.push_back(
        absl::StrCat("Noise not measured", on,
                     ": these records have no second run of plain decoding."));
  else
    notes.push_back(
        absl::StrCat("Noise", on, ": plain decoding a second time was ",
                     absl::StrJoin(texts, ", "), " as fast as the first."));
}

void AddVerdicts(const Answer& answer, std::vector<std::string>& notes) {
  notes.push_back(absl::StrFormat(
      "Verdicts: on the paired difference of speedups, at 5 %%%s, and only "
      "where as lopsided "
      "a count of faster and slower prompts comes by chance in at most 5 %% of "
      "cases (sign test). A chat or a batch is one prompt. [low, high] are "
      "95 %% intervals of each number by itself.",
      answer.comparisons == 1
          ? ""
          : absl::StrCat(" over all ", answer.comparisons,
                         " comparisons of this answer together (Holm)")));
}

void AddTravel(const RecordSet& set, std::vector<std::string>& notes) {
  std::set<std::string> machines;
  for (const RecordFile& file : set.files) {
    const records::Machine& machine = file.context.machine();
    machines.insert(
        absl::StrCat(ProcessorOf(machine), InstructionSetText(machine), ", ",
                     Counted(machine.threads(), "thread"), RanksText(machine)));
  }
  notes.push_back(absl::StrCat("Speedups and verdicts are those of ",
                               absl::StrJoin(machines, " and of "), "."));
}

// At temperature 0 texts decide; above it the proof record does.
void AddEvidence(const RecordSet& set, std::vector<std::string>& notes) {
  int same = 0;
  std::size_t proven = 0;
  std::vector<std::string> claimed;
  for (const CellRecords& cell : set.cells) {
    if (!cell.cell->lossless() || cell.cell->trunks_size() == 0) continue;
    const TextCheck texts = CompareTexts(cell.pairs);
    if (cell.cell->temperature() == 0)
      same += texts.compared - texts.differing;  // some may under --fast
    else if (cell.cell->evidence() == records::PROVEN)
      ++proven;
    else if (std::find(claimed.begin(), claimed.end(), cell.cell->method()) ==
             claimed.end())
      claimed.push_back(cell.cell->method());
  }
  std::vector<std::string> parts;
  if (same > 0)
    parts.push_back(absl::StrCat("at T = 0, ", same,
                                 same == 1 ? " text equals" : " texts equal",
                                 " plain decoding's"));
  if (proven > 0)
    parts.push_back(absl::StrCat(
        "above T = 0, ", Counted(static_cast<std::int64_t>(proven), "method"),
        proven == 1 ? " is" : " are", " proven by enumeration"));
  if (!claimed.empty())
    parts.push_back(absl::StrCat("above T = 0, ", Names(claimed),
                                 claimed.size() == 1 ? " is" : " are",
                                 " claimed to be, not proven in this build"));
  if (!parts.empty())
    notes.push_back(
        absl::StrCat("Lossless: ", absl::StrJoin(parts, "; "), "."));
}

// Each level of a draft then costs more than the token it can save.
void AddHopeless(const TargetAnswer& target, std::vector<std::string>& notes) {
  std::vector<std::string> hopeless;
  double least = 0;
  std::size_t all = 0;
  ForEntries(target, [&](const std::string& name, const AnswerEntry& entry) {
    ++all;
    if (!entry.level_cost.has_value() || *entry.level_cost < 1) return;
    least = hopeless.empty() ? *entry.level_cost
                             : std::min(least, *entry.level_cost);
    hopeless.push_back(name);
  });
  if (hopeless.empty()) return;
  const bool nothing = hopeless.size() == all;
  std::sort(hopeless.begin(), hopeless.end());
  hopeless.erase(std::unique(hopeless.begin(), hopeless.end()), hopeless.end());
  notes.push_back(absl::StrFormat(
      "On %s %s be faster than plain decoding: a drafted level costs %.2f "
      "plain passes%s. On a larger target a pass costs more (banyan grow).",
      target.name,
      nothing ? "no method can" : absl::StrCat(Names(hopeless), " cannot"),
      least, nothing || hopeless.size() > 1 ? " or more" : ""));
}

// A policy that chooses sizes by costs may choose one node.
void AddOneNodeTrees(const TargetAnswer& target,
                     std::vector<std::string>& notes) {
  std::map<double, std::vector<std::string>> names;
  for (const AnswerRow& row : target.rows)
    for (const auto& [temperature, entry] : row.at)
      if (IsTree(*entry.own.cell->cell) && DraftsOneToken(*entry.own.cell))
        names[temperature].push_back(row.name);
  for (const auto& [temperature, at] : names)
    notes.push_back(absl::StrFormat(
        "At T = %g trees of one node, which are chains of one token: %s.",
        temperature, Names(at)));
}

// The target's mass of each drafter's first tokens at the root, by the cell of
// a rival that has the most of them: trees can win by their width only where
// later ones add to it.
void AddWidths(const TargetAnswer& target, std::vector<std::string>& notes) {
  for (const auto& [temperature, at] : target.at) {
    if (!at.trees) continue;
    std::map<std::string, std::vector<double>> best;  // by drafter
    for (const AnswerEntry* entry : EntriesAt(target, temperature)) {
      const CellRecords& cell = *entry->own.cell;
      std::map<std::string, std::vector<double>> own;
      for (const auto& [key, estimate] :
           EstimateAll(**FindMetric("success_at_root"), cell.pairs)) {
        std::vector<double>& masses = own[key.substr(0, key.rfind(','))];
        // The same again: it had no more tokens.
        if (masses.empty() || estimate.value > masses.back())
          masses.push_back(estimate.value);
      }
      for (int trunk = 0; trunk < cell.cell->trunks_size(); ++trunk) {
        const std::string& label = cell.cell->trunks(trunk).label();
        std::vector<double>& most = best[label];
        std::vector<double>& here = own[TrunkKey(*cell.cell, trunk)];
        if (here.size() > most.size()) most = std::move(here);
      }
    }
    std::vector<std::string> drafters;
    for (const auto& [label, masses] : best) {
      if (masses.size() < 2) continue;
      std::string text = label;
      for (const double mass : masses)
        absl::StrAppendFormat(&text, " %.2f", mass);
      drafters.push_back(std::move(text));
    }
    if (!drafters.empty())
      notes.push_back(absl::StrFormat(
          "What width can bring at T = %g on %s: the target's mass of a "
          "drafter's first 1, 2, ... tokens at the root: %s.",
          temperature, target.name, absl::StrJoin(drafters, "; ")));
  }
}

// Rivals, their references and chains.
void AddUnexplained(const TargetAnswer& target,
                    std::vector<std::string>& notes) {
  std::set<std::string> names;
  const auto add = [&](const CellNumbers& numbers) {
    if (numbers.unexplained)
      names.insert(absl::StrFormat("%s at T = %g (%.2fx at %.2f)", numbers.name,
                                   numbers.cell->cell->temperature(),
                                   numbers.speed->value,
                                   numbers.tokens_per_pass->value));
  };
  ForEntries(target,
             [&](const std::string& /*name*/, const AnswerEntry& entry) {
               add(entry.own);
               if (entry.reference.has_value()) add(entry.reference->other);
               for (const AgainstCell& chain : entry.chains) add(chain.other);
             });
  if (!names.empty())
    notes.push_back(absl::StrCat(
        "! on ", target.name,
        ": a speedup above tokens per pass comes from the machine, not from "
        "the method, and is not counted as the fastest: ",
        Names({names.begin(), names.end()}), "."));
}

}  // namespace

std::vector<std::string> Opening(const std::string& question,
                                 const TargetAnswer& target, bool named) {
  const bool yes_or_no = AsksYesOrNo(question);
  std::vector<std::string> sentences;
  for (const auto& [temperature, at] : target.at) {
    if (at.speed.all == 0 || at.prompts == 0) continue;
    const std::vector<const AnswerEntry*> entries =
        EntriesAt(target, temperature);
    sentences.push_back(absl::StrFormat(
        "%s T = %g: %s", named ? absl::StrCat("On ", target.name, " at") : "At",
        temperature, VerdictSentence(yes_or_no, entries, at)));
    if (std::string travels = TravelSentence(entries, at); !travels.empty())
      sentences.push_back(std::move(travels));
  }
  return sentences;
}

std::vector<std::string> Notes(const RecordSet& set, const Answer& answer) {
  std::vector<std::string> notes;
  const bool named = answer.targets.size() > 1;
  for (const TargetAnswer& target : answer.targets) {
    AddHopeless(target, notes);
    AddOneNodeTrees(target, notes);
    AddWidths(target, notes);
    AddUnexplained(target, notes);
    AddNoise(target, named, notes);
  }
  AddVerdicts(answer, notes);
  AddEvidence(set, notes);
  AddReference(set, notes);
  AddTravel(set, notes);
  notes.insert(notes.end(), set.warnings.begin(), set.warnings.end());
  return notes;
}

std::string FastestSentence(const TargetAnswer& target, bool largest) {
  std::vector<std::string> parts;
  for (const auto& [temperature, at] : target.at) {
    if (!at.fastest.has_value()) continue;
    const CellNumbers& fastest = *at.fastest;
    const records::Cell& cell = *fastest.cell->cell;
    if (cell.trunks_size() == 0) {
      parts.push_back(absl::StrFormat(
          "at T = %g none was measured above plain decoding", temperature));
      continue;
    }
    const std::string number =
        absl::StrCat(fastest.name, ", ", With(*fastest.speed));
    if (!IsShownFaster(fastest)) {
      parts.push_back(absl::StrFormat(
          "at T = %g none is shown to be faster than plain decoding (the "
          "highest is %s)",
          temperature, number));
      continue;
    }
    parts.push_back(
        absl::StrFormat("at T = %g %s%s", temperature, number,
                        temperature == 0 ? ""
                        : cell.evidence() == records::PROVEN
                            ? " (proven by enumeration)"
                            : " (claimed, not proven in this build)"));
  }
  if (parts.empty()) return "";
  return absl::StrCat(
      largest ? "Fastest lossless method"
              : absl::StrCat("On ", target.name, target.marks, " the fastest"),
      ": ", absl::StrJoin(parts, "; "), ".");
}

}  // namespace banyan
