// An answer as a terminal shows it.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/common.h"
#include "core/json/json_value.h"
#include "core/terminal/columns.h"
#include "experiments/metrics/estimate.h"
#include "experiments/records/record_set.h"
#include "experiments/report/answer/answer.h"
#include "experiments/report/answer/verdict.h"
#include "experiments/report/table.h"

namespace banyan {

namespace {

// Beyond that nobody decodes prompts to decide something.
constexpr double kMostPrompts = 9999;

std::string Number(const std::optional<Estimate>& estimate) {
  if (!estimate.has_value()) return "-";
  std::string out = absl::StrFormat("%.2f", estimate->value);
  if (estimate->interval.has_value())
    absl::StrAppendFormat(&out, " [%.2f, %.2f]", estimate->interval->low,
                          estimate->interval->high);
  return out;
}

std::string Signed(const std::optional<Estimate>& difference) {
  if (!difference.has_value()) return "-";
  std::string out = absl::StrFormat("%+.2f", difference->value);
  if (difference->interval.has_value())
    absl::StrAppendFormat(&out, " [%+.2f, %+.2f]", difference->interval->low,
                          difference->interval->high);
  return out;
}

std::string Wanted(const Difference& difference) {
  if (difference.verdict != Judgement::kUndecided) return "";
  if (!difference.prompts_wanted.has_value())
    return difference.estimate.has_value() ? "?" : "";
  if (*difference.prompts_wanted > kMostPrompts)
    return absl::StrFormat(">%.0f", kMostPrompts);
  return absl::StrFormat("%.0f", *difference.prompts_wanted);
}

// The rows at one temperature with one reference.
struct Group {
  const AgainstCell* reference = nullptr;
  std::vector<std::pair<const AnswerRow*, const AnswerEntry*>> entries;
};

std::vector<Group> GroupsAt(const TargetAnswer& target, double temperature) {
  std::vector<Group> groups;
  for (const AnswerRow& row : target.rows) {
    const auto found = row.at.find(temperature);
    if (found == row.at.end()) continue;
    const AnswerEntry& entry = found->second;
    const AgainstCell* reference =
        entry.reference.has_value() ? &*entry.reference : nullptr;
    Group* own = nullptr;
    for (Group& group : groups)
      if ((reference == nullptr) == (group.reference == nullptr) &&
          (reference == nullptr ||
           reference->other.cell == group.reference->other.cell))
        own = &group;
    if (own == nullptr) {
      groups.push_back({.reference = reference, .entries = {}});
      own = &groups.back();
    }
    own->entries.emplace_back(&row, &entry);
  }
  return groups;
}

class TargetTables {
 public:
  explicit TargetTables(const TargetAnswer& target) : target_(target) {}

  std::string Text() const {
    std::string text;
    for (const auto& [temperature, at] : target_.at) {
      const bool withdrawn = at.noise.differs;
      for (const Group& group : GroupsAt(target_, temperature))
        absl::StrAppend(&text, "\n",
                        ToText(RivalsTable(group, temperature, withdrawn)));
      if (at.trees && !withdrawn)
        absl::StrAppend(&text, "\n", ToText(ChainsTable(temperature)));
    }
    return text;
  }

 private:
  std::string Title(double temperature) const {
    return absl::StrFormat("%s%s, T = %g:", target_.name, target_.marks,
                           temperature);
  }

  std::vector<std::string> Row(const std::string& name,
                               const CellNumbers& numbers,
                               const Difference* against,
                               bool withdrawn) const {
    if (withdrawn) return {name, Number(numbers.tokens_per_pass)};
    std::vector<std::string> row = {
        name, Number(numbers.speed) + (numbers.unexplained ? "!" : " "),
        Number(numbers.tokens_per_pass)};
    if (against == nullptr) {
      row.insert(row.end(), {"", "", ""});
      return row;
    }
    row.insert(row.end(), {std::string(SpeedWord(against->verdict)),
                           Signed(against->estimate), Wanted(*against)});
    return row;
  }

  Table RivalsTable(const Group& group, double temperature,
                    bool withdrawn) const {
    Table table = {.header = {"method"},
                   .sections = {{.title = Title(temperature)}}};
    if (withdrawn)
      table.header.emplace_back("tokens per pass");
    else
      table.header.insert(table.header.end(),
                          {"speedup ", "tokens per pass", "verdict",
                           "against the reference", "prompts to decide"});
    Table::Section& section = table.sections.front();
    if (group.reference != nullptr)
      section.rows.push_back(
          Row(absl::StrCat("reference ", group.reference->other.name),
              group.reference->other, nullptr, withdrawn));
    for (const auto& [row, entry] : group.entries)
      section.rows.push_back(
          Row(row->name, entry->own,
              entry->reference.has_value() ? &entry->reference->speed : nullptr,
              withdrawn));
    return table;
  }

  // Of each tree, the chain of its own drafters that is hardest to beat.
  Table ChainsTable(double temperature) const {
    Table table = {
        .header = {"tree", "hardest chain of its own drafters", "speedup ",
                   "verdict", "against that chain", "prompts to decide"},
        .text_columns = 2,
        .sections = {{.title = Title(temperature)}}};
    for (const AnswerRow& row : target_.rows) {
      const auto found = row.at.find(temperature);
      if (found == row.at.end() || found->second.chains.empty()) continue;
      const AgainstCell& worst = WorstChain(found->second);
      table.sections.front().rows.push_back(
          {row.name, worst.other.name,
           Number(worst.other.speed) + (worst.other.unexplained ? "!" : " "),
           std::string(SpeedWord(worst.speed.verdict)),
           Signed(worst.speed.estimate), Wanted(worst.speed)});
    }
    return table;
  }

  const TargetAnswer& target_;
};

}  // namespace

std::string AnswerText(const Answer& answer, const std::string& more) {
  std::string text;
  const auto add = [&](absl::string_view sentence) {
    for (const std::string& line :
         Wrapped(VisibleLines(sentence), kTableColumns))
      absl::StrAppend(&text, line, "\n");
  };
  if (!answer.loaded.empty()) add(answer.loaded);
  add(answer.question);
  for (const std::string& claim : answer.refuted) add(claim);
  if (answer.records < answer.expected)
    add(absl::StrCat("UNFINISHED: ", answer.records, " of ", answer.expected,
                     " records so far."));
  for (const TargetAnswer& target : answer.targets)
    for (const std::string& sentence : target.opening) add(sentence);
  if (!answer.targets.empty())
    text += TargetTables(answer.targets.front()).Text();
  text += "\n";
  for (std::size_t i = 0; i < answer.targets.size(); ++i) {
    const TargetAnswer& target = answer.targets[i];
    const std::string fastest = FastestSentence(target, i == 0);
    int prompts = 0;
    for (const auto& [temperature, at] : target.at)
      prompts = std::max(prompts, at.prompts);
    add(prompts == 0 ? absl::StrCat(target.name, ": no records yet.")
                     : fastest);
  }
  for (const std::string& note : answer.notes) add(note);
  add(absl::StrCat("All numbers: ", more));
  return text;
}

// An answer as the page and other programs read it.

namespace {

JsonValue ToJson(const CellNumbers& numbers) {
  return {{"cell", numbers.cell->name},
          {"method", numbers.cell->cell->method()},
          {"name", numbers.name},
          {"tree", IsTree(*numbers.cell->cell)},
          {"speed", EstimateToJson(numbers.speed)},
          {"tokens_per_pass", EstimateToJson(numbers.tokens_per_pass)},
          {"unexplained", numbers.unexplained}};
}

JsonValue ToJson(const Difference& difference) {
  JsonValue out = EstimateToJson(difference.estimate);
  if (!difference.estimate.has_value()) return out;
  out["prompts"] = difference.estimate->prompts;
  out["verdict"] = std::string(SpeedWord(difference.verdict));
  out["p"] = difference.estimate->p.has_value()
                 ? JsonValue(*difference.estimate->p)
                 : JsonValue();
  out["sign_p"] = difference.signs.p;
  out["prompts_wanted"] = difference.prompts_wanted.has_value()
                              ? JsonValue(*difference.prompts_wanted)
                              : JsonValue();
  return out;
}

JsonValue ToJson(const AgainstCell& against) {
  JsonValue out = ToJson(against.other);
  out["difference"] = ToJson(against.speed);
  return out;
}

JsonValue ToJson(const AnswerEntry& entry) {
  JsonValue out = ToJson(entry.own);
  out["reference"] =
      entry.reference.has_value() ? ToJson(*entry.reference) : JsonValue();
  out["chain"] = entry.chains.empty() ? JsonValue() : ToJson(WorstChain(entry));
  return out;
}

JsonValue ToJson(const Score& score) {
  return {{"all", score.all},
          {"more", score.more},
          {"less", score.less},
          {"undecided", score.undecided()},
          {"winners", score.winners}};
}

JsonValue ToJson(double temperature, const TemperatureAnswer& at) {
  JsonValue outlooks = JsonValue::List();
  for (const Outlook& outlook : at.outlooks)
    outlooks.Add({{"where", outlook.where},
                  {"file", outlook.file},
                  {"score", ToJson(outlook.score)},
                  {"unknown", outlook.unknown}});
  JsonValue faster = JsonValue::List();
  for (const CellNumbers& chain : at.faster_chains) faster.Add(ToJson(chain));
  return {
      {"temperature", temperature},
      {"prompts", at.prompts},
      {"trees", at.trees},
      {"speed", ToJson(at.speed)},
      {"tokens_per_pass", ToJson(at.tokens_per_pass)},
      {"outlooks", std::move(outlooks)},
      {"plain_twice", EstimateToJson(at.noise.speed)},
      {"withdrawn", at.noise.differs},
      {"faster_chains", std::move(faster)},
      {"fastest", at.fastest.has_value() ? ToJson(*at.fastest) : JsonValue()}};
}

JsonValue ToJson(const TargetAnswer& target, bool largest) {
  JsonValue rows = JsonValue::List();
  for (const AnswerRow& row : target.rows) {
    JsonValue at = JsonValue::List();
    for (const auto& [temperature, entry] : row.at)
      at.Add(ToJson(entry))["temperature"] = temperature;
    rows.Add({{"name", row.name}, {"at", std::move(at)}});
  }
  JsonValue temperatures = JsonValue::List();
  for (const auto& [temperature, at] : target.at)
    temperatures.Add(ToJson(temperature, at));
  return {{"target", target.name},
          {"marks", target.marks},
          {"opening", target.opening},
          {"temperatures", std::move(temperatures)},
          {"rows", std::move(rows)},
          {"fastest", FastestSentence(target, largest)}};
}

}  // namespace

JsonValue AnswerToJson(const Answer& answer) {
  JsonValue targets = JsonValue::List();
  for (const TargetAnswer& target : answer.targets)
    targets.Add(ToJson(target, &target == &answer.targets.front()));
  return {{"question", answer.question},       {"loaded", answer.loaded},
          {"refuted", answer.refuted},         {"notes", answer.notes},
          {"records", answer.records},         {"expected", answer.expected},
          {"comparisons", answer.comparisons}, {"targets", std::move(targets)}};
}

}  // namespace banyan
