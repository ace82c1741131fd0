#include "decode/beam/text_reader.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/check.h"
#include "core/base/status_macros.h"
#include "core/model/model.h"

namespace banyan {
namespace {

using Text = TextReader::Text;

Text WithoutLast(Text text) {
  text.pop_back();
  return text;
}

// Compared from the end, where the texts of one beam differ.
bool Begins(const Text& begin, const Text& text) {
  return begin.size() <= text.size() &&
         std::equal(begin.rbegin(), begin.rend(),
                    text.rend() - static_cast<std::ptrdiff_t>(begin.size()));
}

}  // namespace

absl::StatusOr<std::vector<double>> TextReader::LogitsAfter(
    const Text& text) const {
  const State state = StateOf(text);
  Check(state.scores != nullptr, "what follows a text that was not read");
  std::vector<double> logits;
  BANYAN_RETURN_IF_ERROR(state.scores->Read(state.scores_row, logits));
  return logits;
}

absl::StatusOr<int> TextReader::Read(absl::Span<const Text> texts) {
  std::set<Text> missing;
  for (Text text : texts) {
    if (has_read(text)) continue;
    missing.insert(text);
    while (!text.empty()) {
      text.pop_back();
      if (Cached(text)) break;
      missing.insert(text);
    }
  }
  if (missing.empty()) return 0;
  const int first = prompt_.session->pending();
  TokenBatch batch;
  for (const Text& text : missing) {
    int above = TokenBatch::kCommitted;
    if (!text.empty() && !Committed(WithoutLast(text)))
      above = StateOf(WithoutLast(text)).row;
    states_[text].row = first + batch.size();
    batch.Add(text.empty() ? prompt_.context.root() : text.back(),
              PositionOf(text), above);
  }
  BANYAN_ASSIGN_OR_RETURN(const std::shared_ptr<const Scores> scores,
                          ScoreOne(model(), *prompt_.session, batch));
  int row = 0;
  for (const Text& text : missing) {
    states_[text].scores = scores;
    states_[text].scores_row = row++;
  }
  return batch.size();
}

absl::Status TextReader::Keep(absl::Span<const Text> live) {
  if (live.empty() || !Cached({})) return absl::OkStatus();
  Text common = live.front();  // the longest cached beginning of all
  while (!Cached(common) || !absl::c_all_of(live, [&](const Text& text) {
    return Begins(common, text);
  }))
    common.pop_back();

  int beside = 0;  // rows that committing would lose
  for (auto& entry : states_) {
    const Text& text = entry.first;
    State& state = entry.second;
    const bool asked = absl::c_any_of(
        live, [&](const Text& one) { return Begins(one, text); });
    const bool leads = absl::c_any_of(
        live, [&](const Text& one) { return Begins(text, one); });
    if (!asked) state.scores = nullptr;
    if (state.row != kNone && (asked || leads) && !Begins(text, common))
      ++beside;
  }
  const int others = prompt_.session->pending() - beside;
  if (beside > 0 && others <= model().context_limit()) return absl::OkStatus();

  std::vector<int> path;
  for (Text text = common; !Committed(text); text.pop_back()) {
    path.push_back(StateOf(text).row);
    if (text.empty()) break;
  }
  std::reverse(path.begin(), path.end());
  BANYAN_RETURN_IF_ERROR(prompt_.session->Commit(path));
  for (auto& [text, state] : states_) state.row = kNone;
  std::erase_if(states_, [](const auto& entry) {
    return entry.second.scores == nullptr;
  });
  return absl::OkStatus();
}

}  // namespace banyan
