#include "decode/sequence.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/base/features.h"
#include "core/base/status_macros.h"
#include "core/base/token.h"
#include "core/model/model.h"

namespace banyan {
namespace {

// Tokens of the prompt in a pass.
constexpr std::size_t kPrefillRows = 64;

void AddFeatures(const Scores& scores, absl::Span<const int> rows,
                 const std::vector<int>& taps, Features& features) {
  for (int row : rows) {
    for (std::size_t tap = 0; tap < taps.size(); ++tap) {
      const auto state = scores.Hidden(static_cast<int>(tap), row);
      features.values.insert(features.values.end(), state.begin(), state.end());
    }
    ++features.rows;
  }
}

}  // namespace

absl::string_view Name(StopReason reason) {
  switch (reason) {
    case StopReason::kNone:
      return "none";
    case StopReason::kEndOfText:
      return "end_of_text";
    case StopReason::kLength:
      return "length";
    case StopReason::kContext:
      return "context";
  }
  return "";
}

absl::StatusOr<Sequence> Sequence::Start(const Model& target,
                                         const Prompt& prompt,
                                         const StopRule& stop,
                                         std::vector<int> taps) {
  if (prompt.tokens.empty())
    return absl::InvalidArgumentError("the prompt is empty");
  const int length = static_cast<int>(prompt.tokens.size());
  if (length > target.context_limit())
    return absl::OutOfRangeError(absl::StrCat("the prompt has ", length,
                                              " tokens, the context holds ",
                                              target.context_limit()));
  Sequence sequence = {.target = target,
                       .session = target.NewSession(),
                       .context = {.tokens = prompt.tokens,
                                   .prompt_length = length,
                                   .prompt = prompt.id},
                       .stop = stop,
                       .taps = std::move(taps)};
  if (stop.max_new_tokens <= 0) sequence.stopped = StopReason::kLength;
  const auto read =
      absl::MakeConstSpan(prompt.tokens).first(prompt.tokens.size() - 1);
  BANYAN_RETURN_IF_ERROR(sequence.taps.empty()
                             ? sequence.session->Prefill(read)
                             : sequence.PrefillWithFeatures(read));
  return sequence;
}

void Sequence::KeepFeatures(const Scores& scores, absl::Span<const int> rows) {
  Features& features = context.features;
  features.rows = 0;
  features.values.clear();
  AddFeatures(scores, rows, taps, features);
}

absl::Status Sequence::PrefillWithFeatures(absl::Span<const TokenId> tokens) {
  context.features.taps = taps;
  context.features.hidden_size = target.hidden_size();
  while (!tokens.empty()) {
    TokenBatch batch;
    std::vector<int> rows;
    for (TokenId token : tokens.subspan(0, kPrefillRows)) {
      const int row = batch.size();
      batch.tokens.push_back(token);
      batch.positions.push_back(session->length() + row);
      batch.parents.push_back(row - 1);  // kCommitted is -1
      rows.push_back(row);
    }
    const ScoreRequest request = {session.get(), &batch, taps,
                                  /*logits=*/false};
    BANYAN_ASSIGN_OR_RETURN(const auto scores, target.Score({&request, 1}));
    AddFeatures(*scores.front(), rows, taps, context.features);
    BANYAN_RETURN_IF_ERROR(session->Commit(rows));
    tokens.remove_prefix(rows.size());
  }
  return absl::OkStatus();
}

Sequence::Kept Sequence::Cut(std::vector<TokenId> emitted) const {
  Kept kept = {.tokens = std::move(emitted)};
  std::vector<TokenId>& tokens = kept.tokens;
  const auto room =
      static_cast<std::size_t>(stop.max_new_tokens - context.emitted());
  if (tokens.size() >= room) {
    tokens.resize(room);
    kept.stopped = StopReason::kLength;
  }
  const auto end =
      std::find_first_of(tokens.begin(), tokens.end(), stop.end_of_text.begin(),
                         stop.end_of_text.end());
  if (end != tokens.end()) {
    tokens.erase(end + 1, tokens.end());
    kept.stopped = StopReason::kEndOfText;
  }
  // The last token must still be fed to go on.
  const auto length = context.tokens.size() + tokens.size();
  if (kept.stopped == StopReason::kNone &&
      length > static_cast<std::size_t>(target.context_limit()))
    kept.stopped = StopReason::kContext;
  return kept;
}

void Sequence::Append(const Kept& kept) {
  context.tokens.insert(context.tokens.end(), kept.tokens.begin(),
                        kept.tokens.end());
  ++context.round;
  stopped = kept.stopped;
}

}  // namespace banyan
