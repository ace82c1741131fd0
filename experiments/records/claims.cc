#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/common.h"
#include "experiments/records/record.pb.h"
#include "experiments/records/record_set.h"

namespace banyan {
namespace {

// Not so at a later turn of a chat that answered otherwise before.
bool SamePrompt(const PromptPair& pair) {
  const auto& own = pair.record->prompt_tokens();
  const auto& plain = pair.baseline->prompt_tokens();
  return std::equal(own.begin(), own.end(), plain.begin(), plain.end());
}

}  // namespace

std::optional<std::size_t> FirstDifference(const PromptPair& pair) {
  if (pair.baseline == nullptr || pair.baseline == pair.record ||
      pair.cell->temperature() != 0 || !SamePrompt(pair))
    return std::nullopt;
  const auto& tokens = pair.record->tokens();
  const auto& plain = pair.baseline->tokens();
  return static_cast<std::size_t>(
      std::mismatch(tokens.begin(), tokens.end(), plain.begin(), plain.end())
          .second -
      plain.begin());
}

bool Differs(const PromptPair& pair) {
  const std::optional<std::size_t> place = FirstDifference(pair);
  return place.has_value() && *place < static_cast<std::size_t>(std::max(
                                           pair.record->tokens_size(),
                                           pair.baseline->tokens_size()));
}

TextCheck CompareTexts(absl::Span<const PromptPair> pairs) {
  TextCheck check;
  for (const PromptPair& pair : pairs) {
    check.compared += FirstDifference(pair).has_value() ? 1 : 0;
    check.differing += Differs(pair) ? 1 : 0;
  }
  return check;
}

void WithdrawRefutedClaims(RecordSet& set) {
  // Methods, by experiment: what lies at temperature 0 is not believed above
  // it.
  std::set<std::pair<const records::Context*, std::string>> refuted;
  for (const CellRecords& cell : set.cells) {
    if (!cell.cell->lossless() || cell.context->machine().fast()) continue;
    const TextCheck check = CompareTexts(cell.pairs);
    if (check.differing == 0) continue;
    refuted.emplace(cell.context, cell.cell->method());
    set.refuted.push_back(
        absl::StrCat("NOT LOSSLESS: ", cell.name, " claims to be, but ",
                     check.differing, " of its ", check.compared,
                     " texts at temperature 0 differ from plain decoding's"));
  }
  for (CellRecords& cell : set.cells) {
    if (!cell.cell->lossless() ||
        !refuted.contains({cell.context, cell.cell->method()}))
      continue;
    auto without = std::make_unique<records::Cell>(*cell.cell);
    without->set_lossless(false);
    without->set_evidence(records::REFUTED);
    cell.cell = without.get();
    for (PromptPair& pair : cell.pairs) pair.cell = without.get();
    set.own_cells.push_back(std::move(without));
  }
}

void WarnOfRepeats(RecordSet& set) {
  for (const CellRecords& repeat : set.repeats) {
    if (repeat.context->machine().fast()) continue;
    const auto differs = [](const PromptPair& pair) {
      return pair.baseline != nullptr && SamePrompt(pair) &&
             !std::equal(pair.record->tokens().begin(),
                         pair.record->tokens().end(),
                         pair.baseline->tokens().begin(),
                         pair.baseline->tokens().end());
    };
    const auto differing =
        std::count_if(repeat.pairs.begin(), repeat.pairs.end(), differs);
    if (differing > 0)
      set.warnings.push_back(absl::StrCat(
          repeat.baseline, ": a second run gave ", differing, " of ",
          repeat.pairs.size(),
          " texts otherwise, though it draws the same: what is computed here "
          "is not repeatable"));
  }
}

absl::Status CheckClaims(const RecordSet& set) {
  if (set.refuted.empty()) return absl::OkStatus();
  return absl::AbortedError(absl::StrJoin(set.refuted, "\nbanyan: "));
}

}  // namespace banyan
