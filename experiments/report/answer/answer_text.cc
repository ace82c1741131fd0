// An answer as a terminal shows it.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "core/base/counted.h"
#include "core/text/columns.h"
#include "experiments/metrics/bootstrap.h"
#include "experiments/records/record.pb.h"
#include "experiments/records/record_set.h"
#include "experiments/report/answer/answer.h"
#include "experiments/report/answer/speed_verdict.h"

namespace banyan {
namespace {

constexpr int kLines = 40;
constexpr std::size_t kMostNotes = 10;  // lines
constexpr int kColumns = 100;
constexpr int kLongestName = 28;
// Of a rival at one temperature: speedup, tokens per pass, verdict, difference
// and interval; or without what does not fit.
constexpr int kFullBlock = 40;
constexpr int kShortBlock = 26;
constexpr int kLeastBlock = 13;
constexpr char kGap[] = "  ";

// Returns the text in at most `columns` columns; ".." replaces the rest.
std::string Cut(absl::string_view text, int columns) {
  std::string cut = Visible(text);
  if (Columns(cut) <= columns) return cut;
  while (!cut.empty() && Columns(cut) > columns - 2) cut.pop_back();
  return cut + "..";
}

// Lines of at most kColumns; later ones are indented.
std::vector<std::string> Wrapped(const std::string& text) {
  std::vector<std::string> lines;
  std::string line;
  for (absl::string_view word :
       absl::StrSplit(text, absl::ByAnyChar(" \n"), absl::SkipEmpty())) {
    if (!line.empty() && Columns(line) + 1 + Columns(word) > kColumns) {
      lines.push_back(std::move(line));
      line = kGap;
      absl::StrAppend(&line, word);
      continue;
    }
    absl::StrAppend(&line, line.empty() ? "" : " ", word);
  }
  if (!line.empty()) lines.push_back(std::move(line));
  for (std::string& each : lines) each = Cut(each, kColumns);  // one long word
  return lines;
}

std::string AtTemperature(double temperature) {
  return absl::StrCat("T = ", temperature);
}

std::string Difference(const Estimate& difference) {
  return absl::StrFormat("%+.2f", difference.value);
}

class TextMaker {
 public:
  TextMaker(const Answer& answer, const std::string& more)
      : answer_(answer), more_(more) {}

  std::string Make() {
    Head();
    std::vector<std::string> tail = NoteLines();
    for (std::size_t i = 0; i < answer_.targets.size(); ++i)
      for (std::string& line : Wrapped(Sentence(answer_.targets[i], i == 0)))
        tail.push_back(std::move(line));
    tail.push_back(absl::StrCat("All numbers: ", more_));
    if (!answer_.targets.empty() && !answer_.targets.front().rows.empty())
      Tables(answer_.targets.front(), static_cast<int>(tail.size()));
    lines_.insert(lines_.end(), tail.begin(), tail.end());
    return absl::StrCat(absl::StrJoin(lines_, "\n"), "\n");
  }

 private:
  void Head() {
    std::vector<std::string> question = Wrapped(answer_.question);
    if (question.size() > 3) question.resize(3);
    lines_ = std::move(question);
    for (const std::string& claim : answer_.refuted) Add(Wrapped(claim));
    if (answer_.records < answer_.expected)
      lines_.push_back(absl::StrCat("UNFINISHED: ", answer_.records, " of ",
                                    answer_.expected, " records so far."));
    for (const TargetAnswer& target : answer_.targets)
      for (const std::string& sentence : target.opening) Add(Wrapped(sentence));
  }

  void Add(std::vector<std::string> lines) {
    for (std::string& line : lines) lines_.push_back(std::move(line));
  }

  std::vector<std::string> NoteLines() const {
    std::vector<std::string> lines;
    for (std::size_t i = 0; i < answer_.notes.size(); ++i) {
      std::vector<std::string> note = Wrapped(answer_.notes[i]);
      if (lines.size() + note.size() > kMostNotes) {
        lines.push_back(absl::StrCat("(and ", answer_.notes.size() - i,
                                     " more notes, on the page)"));
        break;
      }
      lines.insert(lines.end(), note.begin(), note.end());
    }
    return lines;
  }

  static std::string Verdicts(const AgainstCell& against, bool full) {
    std::string text(Words(against.verdict));
    if (against.verdict != SpeedVerdict::kFaster &&
        against.verdict != SpeedVerdict::kSlower)
      return text;
    absl::StrAppend(&text, " ", Difference(*against.difference));
    if (full)
      absl::StrAppendFormat(&text, " [%.2f, %.2f]",
                            against.difference->interval->low,
                            against.difference->interval->high);
    return text;
  }

  static std::string Number(const std::optional<Estimate>& estimate) {
    return estimate.has_value() ? absl::StrFormat("%5.2f", estimate->value)
                                : "    -";
  }

  // Speedup, tokens per pass where there is room, and what is said of them.
  std::string Numbers(const std::optional<Estimate>& speed,
                      const std::optional<Estimate>& tokens_per_pass,
                      absl::string_view said) const {
    if (block_ == kLeastBlock) return absl::StrCat(Number(speed), " ", said);
    return absl::StrCat(Number(speed), " ", Number(tokens_per_pass), "  ",
                        said);
  }

  std::string Block(const AnswerEntry& entry) const {
    return Numbers(entry.speed, entry.tokens_per_pass,
                   block_ == kLeastBlock
                       ? std::string(Words(entry.reference.verdict))
                       : Verdicts(entry.reference, block_ == kFullBlock));
  }

  // Loses to a chain, makes no difference to one, or beats all.
  static std::string ChainBlock(const AnswerEntry& entry) {
    if (entry.chains.empty()) return "";
    const AgainstCell& worst = WorstChain(entry);
    const std::string& name = worst.name;
    switch (worst.verdict) {
      case SpeedVerdict::kSlower:
        return absl::StrCat(Difference(*worst.difference), " loses to ", name);
      case SpeedVerdict::kFaster:
        return absl::StrCat(Difference(*worst.difference), " beats ", name);
      case SpeedVerdict::kNoDifference:
        return absl::StrCat("no difference: ", name);
      case SpeedVerdict::kTooFew:
        break;
    }
    return std::string(Words(worst.verdict));
  }

  template <typename Text>
  std::string Line(const std::string& name, Text text) const {
    std::string line = Padded(Cut(name, name_), name_);
    for (double temperature : temperatures_)
      absl::StrAppend(&line, kGap,
                      Padded(Cut(text(temperature), block_), block_));
    return std::string(absl::StripTrailingAsciiWhitespace(line));
  }

  // The rival's entry at a temperature, as text.
  template <typename Text>
  std::string RowLine(const AnswerRow& row, Text text) const {
    return Line(row.name, [&](double temperature) {
      const auto entry = row.at.find(temperature);
      return entry == row.at.end() ? std::string() : text(entry->second);
    });
  }

  void Layout(const TargetAnswer& target) {
    std::set<double> temperatures;
    name_ = Columns("reference");
    for (const AnswerRow& row : target.rows) {
      name_ = std::max(name_, std::min(Columns(row.name), kLongestName));
      for (const auto& [temperature, entry] : row.at)
        temperatures.insert(temperature);
    }
    temperatures_.assign(temperatures.begin(), temperatures.end());
    const auto fits = [&](int block) {
      return name_ + static_cast<int>(temperatures_.size()) *
                         (block + Columns(kGap)) <=
             kColumns;
    };
    block_ = fits(kFullBlock)    ? kFullBlock
             : fits(kShortBlock) ? kShortBlock
                                 : kLeastBlock;
    while (!fits(block_)) temperatures_.pop_back();
  }

  static bool HasChains(const AnswerRow& row) {
    return std::any_of(row.at.begin(), row.at.end(), [](const auto& entry) {
      return !entry.second.chains.empty();
    });
  }

  // What the row is held against, by temperature.
  using References = std::map<double, const CellRecords*>;
  static References ReferencesOf(const AnswerRow& row) {
    References references;
    for (const auto& [temperature, entry] : row.at)
      references[temperature] = entry.reference.other;
    return references;
  }

  // Takes over a row's references, if they go with those that are there.
  static bool Join(const AnswerRow& row, References& group) {
    References joined = ReferencesOf(row);
    for (const auto& [temperature, reference] : group)
      if (joined.emplace(temperature, reference).first->second != reference)
        return false;
    group = std::move(joined);
    return true;
  }

  std::string ReferenceLine(const std::vector<const AnswerRow*>& rows) const {
    return Line("reference", [&](double temperature) -> std::string {
      for (const AnswerRow* row : rows)
        if (const auto entry = row->at.find(temperature);
            entry != row->at.end() &&
            entry->second.reference.other != nullptr) {
          const AgainstCell& reference = entry->second.reference;
          return Numbers(reference.speed, reference.tokens_per_pass,
                         reference.name);
        }
      return "-";
    });
  }

  // Rows with the same references stand together, after these.
  std::vector<std::string> RowLines(
      const std::vector<const AnswerRow*>& rows) const {
    std::vector<std::pair<References, std::vector<const AnswerRow*>>> groups;
    for (const AnswerRow* row : rows) {
      const auto group =
          std::find_if(groups.begin(), groups.end(),
                       [&](auto& one) { return Join(*row, one.first); });
      if (group == groups.end())
        groups.push_back({ReferencesOf(*row), {row}});
      else
        group->second.push_back(row);
    }
    std::vector<std::string> lines;
    for (const auto& [references, group] : groups) {
      lines.push_back(ReferenceLine(group));
      for (const AnswerRow* row : group)
        lines.push_back(RowLine(
            *row, [this](const AnswerEntry& entry) { return Block(entry); }));
    }
    return lines;
  }

  // Of rows that have chains beside them.
  std::vector<std::string> ChainLines(
      const std::vector<const AnswerRow*>& rows) const {
    std::vector<std::string> lines;
    for (const AnswerRow* row : rows)
      if (HasChains(*row)) lines.push_back(RowLine(*row, ChainBlock));
    if (!lines.empty())
      lines.insert(lines.begin(),
                   "Beside chains of their own drafters (as many nodes; "
                   "fastest length), the hardest to beat:");
    return lines;
  }

  // The rivals of most speed at the first temperature, if not all have room.
  std::vector<const AnswerRow*> Shown(const TargetAnswer& target,
                                      std::size_t most) const {
    std::vector<const AnswerRow*> rows;
    for (const AnswerRow& row : target.rows) rows.push_back(&row);
    if (rows.size() <= most) return rows;
    const auto speed = [](const AnswerRow* row) {
      const auto& entry = row->at.begin()->second;
      return entry.speed.has_value() ? entry.speed->value : 0;
    };
    std::stable_sort(rows.begin(), rows.end(),
                     [&](const AnswerRow* a, const AnswerRow* b) {
                       return speed(a) > speed(b);
                     });
    rows.resize(most);
    return rows;
  }

  void Tables(const TargetAnswer& target, int tail) {
    Layout(target);
    for (std::string& line : Wrapped(absl::StrCat(
             target.name, target.marks, ", ",
             Counted(static_cast<std::int64_t>(target.prompts), "prompt"),
             ". Speedup over plain decoding",
             block_ == kLeastBlock ? "" : ", tokens per pass",
             ", and against the reference (paired difference of speedups",
             block_ == kFullBlock ? ", 95 % interval" : "", "):")))
      lines_.push_back(std::move(line));
    lines_.push_back(Line("", AtTemperature));
    const int room = kLines - tail - static_cast<int>(lines_.size());
    for (std::size_t most = target.rows.size(); most > 0; --most) {
      const std::vector<const AnswerRow*> shown = Shown(target, most);
      std::vector<std::string> lines = RowLines(shown);
      if (most < target.rows.size())
        lines.push_back(absl::StrCat("(the fastest ", most, " of ",
                                     target.rows.size(), ")"));
      for (std::string& line : ChainLines(shown))
        lines.push_back(std::move(line));
      if (static_cast<int>(lines.size()) > room && most > 1) continue;
      Add(std::move(lines));
      return;
    }
  }

  static std::string Sentence(const TargetAnswer& target, bool largest) {
    std::vector<std::string> parts;
    for (const auto& [temperature, fastest] : target.fastest) {
      if (fastest.cell->cell->trunks_size() == 0) {
        parts.push_back(absl::StrCat("at ", AtTemperature(temperature),
                                     " nothing beats plain decoding"));
        continue;
      }
      parts.push_back(absl::StrFormat(
          "at %s %s, %.2fx%s%s", AtTemperature(temperature), fastest.name,
          fastest.speed.value,
          fastest.speed.interval.has_value()
              ? absl::StrFormat(" [%.2f, %.2f]", fastest.speed.interval->low,
                                fastest.speed.interval->high)
              : "",
          temperature == 0 ? ""
          : fastest.cell->cell->evidence() == records::PROVEN
              ? " (proven by enumeration)"
              : " (claimed, not proven in this build)"));
    }
    if (parts.empty()) return absl::StrCat(target.name, ": no records yet.");
    return absl::StrCat(largest ? "Fastest lossless method"
                                : absl::StrCat("On ", target.name, target.marks,
                                               " the fastest"),
                        ": ", absl::StrJoin(parts, "; "), ".");
  }

  const Answer& answer_;
  const std::string& more_;
  std::vector<std::string> lines_;
  std::vector<double> temperatures_;
  int name_ = 0;
  int block_ = 0;
};

}  // namespace

std::string AnswerText(const Answer& answer, const std::string& more) {
  return TextMaker(answer, more).Make();
}

}  // namespace banyan
