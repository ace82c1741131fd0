#include "core/model/session_state.h"

#include <algorithm>

namespace banyan {

int LatestFrom(const SeenText& seen, int length) {
  if (seen.all()) return 0;
  const int step = std::max(1, seen.latest / 4);
  return std::max(0, length - seen.latest) / step * step;
}

std::vector<int> ChunksBetween(const SeenText& seen, int length) {
  std::vector<int> chunks;
  const int end = LatestFrom(seen, length) / seen.chunk;
  for (int c = (seen.first + seen.chunk - 1) / seen.chunk; c < end; ++c)
    chunks.push_back(c);
  return chunks;
}

std::vector<int> BestChunks(const SeenText& seen, int length,
                            absl::Span<const float> masses) {
  std::vector<int> chunks = ChunksBetween(seen, length);
  std::stable_sort(chunks.begin(), chunks.end(), [masses](int a, int b) {
    return masses[static_cast<std::size_t>(a)] >
           masses[static_cast<std::size_t>(b)];
  });
  if (static_cast<int>(chunks.size()) > seen.chunks)
    chunks.resize(static_cast<std::size_t>(seen.chunks));
  std::sort(chunks.begin(), chunks.end());
  return chunks;
}

std::vector<int> SeenSlots(const SeenText& seen, absl::Span<const int> chunks,
                           int length) {
  const int latest = LatestFrom(seen, length);
  std::vector<int> slots;
  const auto add = [&slots](int first, int end) {
    for (int slot = first; slot < end; ++slot) slots.push_back(slot);
  };
  add(0, std::min(seen.first, latest));
  for (int chunk : chunks) add(chunk * seen.chunk, (chunk + 1) * seen.chunk);
  add(latest, length);
  return slots;
}

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
