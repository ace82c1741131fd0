#include "experiments/report/answer/answer_sentences.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "core/base/counted.h"
#include "experiments/metrics/round_figures.h"
#include "experiments/records/claims.h"
#include "experiments/records/machine.h"
#include "experiments/records/record.pb.h"
#include "experiments/records/record_set.h"
#include "experiments/report/answer/answer.h"
#include "experiments/report/answer/speed_verdict.h"

namespace banyan {
namespace {

// Of names in one sentence; the rest is counted.
constexpr std::size_t kMostNames = 4;

// A draft that can branch.
bool IsTree(const records::Cell& cell) {
  return cell.trunks_size() > 1 ||
         (cell.trunks_size() == 1 && !cell.trunks(0).chain());
}

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
  std::string text = absl::StrJoin(
      names.begin(), names.begin() + static_cast<long>(shown), ", ");
  if (shown < names.size())
    absl::StrAppend(&text, " and ", names.size() - shown, " more");
  return text;
}

std::string Are(std::size_t count) {
  return absl::StrCat(count, count == 1 ? " is" : " are");
}

// "trees", if all entries are.
std::string Noun(const std::vector<const AnswerEntry*>& entries) {
  const bool trees = std::all_of(
      entries.begin(), entries.end(),
      [](const AnswerEntry* entry) { return IsTree(*entry->cell->cell); });
  return trees ? "trees" : "methods";
}

// "1 of 9 trees is faster than CHAIN, 7 are slower, 1 is open".
std::string Score(const std::vector<const AnswerEntry*>& entries,
                  const std::vector<SpeedVerdict>& verdicts,
                  const std::string& reference) {
  const auto faster =
      std::count(verdicts.begin(), verdicts.end(), SpeedVerdict::kFaster);
  const auto slower =
      std::count(verdicts.begin(), verdicts.end(), SpeedVerdict::kSlower);
  return absl::StrFormat(
      "%d of %d %s %s faster than %s, %s slower, %s open", faster,
      entries.size(), Noun(entries), faster == 1 ? "is" : "are", reference,
      Are(static_cast<std::size_t>(slower)),
      Are(entries.size() - static_cast<std::size_t>(faster + slower)));
}

// What the entries are held against.
std::string References(const std::vector<const AnswerEntry*>& entries) {
  std::set<std::string> names;
  for (const AnswerEntry* entry : entries)
    if (entry->reference.other != nullptr)
      names.insert(entry->reference.other->cell->trunks_size() == 0
                       ? "plain decoding"
                       : entry->reference.name);
  if (names.empty()) return "the reference";
  return names.size() == 1 ? *names.begin() : "the reference beside it";
}

std::string OpeningAt(double temperature,
                      const std::vector<const AnswerEntry*>& entries) {
  std::vector<SpeedVerdict> verdicts;
  for (const AnswerEntry* entry : entries)
    verdicts.push_back(entry->reference.verdict);
  return absl::StrFormat(" T = %g, %s.", temperature,
                         Score(entries, verdicts, References(entries)));
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

// Predicted lengths that a neighbour beat.
void AddNeighbours(const TargetAnswer& target,
                   std::vector<std::string>& notes) {
  struct Beaten {
    const FasterNeighbour* first = nullptr;
    std::vector<const AnswerEntry*> trees;
    std::vector<SpeedVerdict> verdicts;
  };
  std::map<std::pair<double, std::string>, Beaten> all;
  ForEntries(
      target, [&](const std::string& /*name*/, const AnswerEntry& entry) {
        for (const FasterNeighbour& faster : entry.neighbours) {
          Beaten& beaten =
              all[{entry.cell->cell->temperature(), faster.against.name}];
          beaten.first = &faster;
          if (entry.chains.empty()) continue;  // a chain
          beaten.trees.push_back(&entry);
          beaten.verdicts.push_back(faster.against.verdict);
        }
      });
  for (const auto& [key, beaten] : all)
    notes.push_back(absl::StrFormat(
        "At T = %g %s is faster than the predicted %s: its speedup is %.2fx "
        "higher.%s",
        key.first, key.second, beaten.first->predicted,
        beaten.first->gain.value,
        beaten.trees.empty()
            ? ""
            : absl::StrCat(" Trees are compared with it too: ",
                           Score(beaten.trees, beaten.verdicts, key.second),
                           ".")));
}

void AddTravel(const RecordSet& set, std::vector<std::string>& notes) {
  std::set<std::string> machines;
  for (const RecordFile& file : set.files) {
    const records::Machine& machine = file.context.machine();
    machines.insert(
        absl::StrCat(ProcessorOf(machine), InstructionSetText(machine), ", ",
                     Counted(machine.threads(), "thread"), RanksText(machine)));
  }
  notes.push_back(absl::StrCat(
      "Tokens per pass travel to other machines; speedups and verdicts do not. "
      "They are of ",
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
    parts.push_back(absl::StrCat("above, ", proven,
                                 proven == 1 ? " cell is" : " cells are",
                                 " proven by enumeration"));
  if (!claimed.empty())
    parts.push_back(absl::StrCat(Names(claimed),
                                 claimed.size() == 1 ? " is" : " are",
                                 " claimed, not proven in this build"));
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
      if (IsTree(*entry.cell->cell) && DraftsOneToken(*entry.cell))
        names[temperature].push_back(row.name);
  for (const auto& [temperature, at] : names)
    notes.push_back(absl::StrFormat(
        "At T = %g trees of one node, which are chains of one token: %s.",
        temperature, Names(at)));
}

void AddUnexplained(const TargetAnswer& target,
                    std::vector<std::string>& notes) {
  std::vector<std::string> names;
  ForEntries(target, [&](const std::string& name, const AnswerEntry& entry) {
    if (IsUnexplained(entry))
      names.push_back(absl::StrFormat("%s (%.2fx at %.2f)", name,
                                      entry.speed->value,
                                      entry.tokens_per_pass->value));
  });
  if (!names.empty())
    notes.push_back(absl::StrCat(
        "Noise on ", target.name,
        ": a speedup above tokens per pass cannot come from the method: ",
        Names(names), "."));
}

}  // namespace

std::vector<std::string> Opening(const TargetAnswer& target, bool named) {
  std::map<double, std::vector<const AnswerEntry*>> entries;
  for (const AnswerRow& row : target.rows)
    for (const auto& [temperature, entry] : row.at)
      entries[temperature].push_back(&entry);
  std::vector<std::string> sentences;
  for (const auto& [temperature, at] : entries)
    sentences.push_back(
        absl::StrCat(named ? absl::StrCat("On ", target.name, " at") : "At",
                     OpeningAt(temperature, at)));
  return sentences;
}

std::vector<std::string> Notes(const RecordSet& set, const Answer& answer) {
  std::vector<std::string> notes;
  for (const TargetAnswer& target : answer.targets) {
    AddHopeless(target, notes);
    AddOneNodeTrees(target, notes);
    AddUnexplained(target, notes);
    AddNeighbours(target, notes);
  }
  AddEvidence(set, notes);
  AddReference(set, notes);
  AddTravel(set, notes);
  // Last: a terminal has room for few.
  notes.insert(notes.end(), set.warnings.begin(), set.warnings.end());
  return notes;
}

}  // namespace banyan
