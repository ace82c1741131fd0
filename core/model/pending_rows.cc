#include "core/model/pending_rows.h"

#include <cstddef>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "core/base/status_macros.h"
#include "core/base/token.h"

namespace banyan {

absl::Status PendingRows::CheckBatch(const TokenBatch& batch, int length,
                                     int limit, CheckToken check) const {
  if (batch.positions.size() != batch.tokens.size() ||
      batch.parents.size() != batch.tokens.size())
    return absl::InvalidArgumentError(absl::StrCat(
        "score: ", batch.tokens.size(), " tokens with ", batch.positions.size(),
        " positions and ", batch.parents.size(),
        " parents, expected one of each per token"));
  for (int i = 0; i < batch.size(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    const int row = size() + i;
    const int parent = batch.parents[at];
    if (parent < TokenBatch::kCommitted || parent >= row)
      return absl::InvalidArgumentError(
          absl::StrCat("score: row ", row, " follows row ", parent,
                       ", which does not stand before it"));
    int position = length + batch.shift;
    if (parent >= size())
      position = batch.positions[static_cast<std::size_t>(parent - size())] + 1;
    else if (parent != TokenBatch::kCommitted)
      position = (*this)[parent].position + 1 + batch.shift;
    if (batch.positions[at] != position || position < 0)
      return absl::InvalidArgumentError(
          absl::StrCat("score: row ", row, " has position ",
                       batch.positions[at], ", expected ", position));
    BANYAN_RETURN_IF_ERROR(check(batch.tokens[at], position));
    if (position >= limit) return OverContextLimit(position + 1, limit);
  }
  return absl::OkStatus();
}

absl::Status PendingRows::CheckPath(absl::Span<const int> path) const {
  int parent = TokenBatch::kCommitted;
  for (int row : path) {
    if (row < 0 || row >= size() || (*this)[row].parent != parent)
      return absl::InvalidArgumentError(absl::StrCat(
          "commit: row ", row, " does not continue the path after ", parent));
    parent = row;
  }
  return absl::OkStatus();
}

void PendingRows::Append(const TokenBatch& batch) {
  for (std::size_t i = 0; i < batch.tokens.size(); ++i)
    rows_.push_back({batch.tokens[i], batch.parents[i], batch.positions[i]});
}

absl::Status OverContextLimit(int tokens, int limit) {
  return absl::OutOfRangeError(
      absl::StrCat(tokens, " tokens do not fit the context limit of ", limit));
}

}  // namespace banyan
