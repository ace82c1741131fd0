// How the kernels of this folder share out their work.
#ifndef BANYAN_CORE_OPS_CPU_PIECES_H_
#define BANYAN_CORE_OPS_CPU_PIECES_H_

#include <algorithm>
#include <cstdint>
#include <vector>

namespace banyan {

// Pieces: something cut into pieces that are as equal as can be.

// Piece `i` is [first(i), first(i + 1)).
struct Pieces {
  // Returns the fewest pieces of at most `most` each.
  static Pieces OfAtMost(int most, int size) {
    return {size, (size + most - 1) / most};
  }

  int first(int i) const {
    return static_cast<int>(std::int64_t{size} * i / count);
  }
  int largest() const { return (size + count - 1) / count; }

  int size;
  int count;
};

// How attention's kernels share out their work.

// Rows [first, first + count) of the query heads of one key head.
struct HeadRows {
  int kv_head;
  int first;
  int count;
};

// Query rows that share one read of the keys, at most: the scores of more do
// not stay in a second-level cache.
inline constexpr int kQueryRows = 48;
// Parts cut smaller for balance have at least this many rows on average.
inline constexpr int kLeastQueryRows = 12;

// All rows of all heads, at most kQueryRows query rows in a part. If few parts
// do not divide evenly among `threads`, makes more and smaller ones.
// Heads vary slowest: a thread stays with the heads in its cache.
inline std::vector<HeadRows> RowsByHead(int rows, int heads, int kv_heads,
                                        int threads) {
  constexpr int kFew = 8;  // parts a thread
  const int group = heads / kv_heads;
  const int least =
      Pieces::OfAtMost(std::max(1, kQueryRows / group), rows).count;
  int count = least;
  while (count < rows && kv_heads * count < kFew * threads &&
         kv_heads * count % threads != 0 &&
         rows * group >= kLeastQueryRows * (count + 1))
    ++count;
  if (kv_heads * count % threads != 0) count = least;
  const Pieces pieces = {rows, count};
  std::vector<HeadRows> parts;
  for (int head = 0; head < kv_heads; ++head)
    for (int i = 0; i < count; ++i)
      parts.push_back(
          {head, pieces.first(i), pieces.first(i + 1) - pieces.first(i)});
  return parts;
}

}  // namespace banyan

#endif  // BANYAN_CORE_OPS_CPU_PIECES_H_
