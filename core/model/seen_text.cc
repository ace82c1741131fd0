#include "core/model/seen_text.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "absl/types/span.h"

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

}  // namespace banyan
