// How attention's kernels share out their work.
#ifndef BANYAN_CORE_OPS_CPU_HEAD_ROWS_H_
#define BANYAN_CORE_OPS_CPU_HEAD_ROWS_H_

#include <algorithm>
#include <vector>

namespace banyan {

// Rows [first, first + count) of the query heads of one key head.
struct HeadRows {
  int kv_head;
  int first;
  int count;
};

// Query rows that share a read of the keys; and, in tile registers, what keys
// become there.
inline constexpr int kQueryRows = 24;
inline constexpr int kRegisterQueryRows = 96;

// All rows of all heads, at most `together` query rows at once. Heads vary
// slowest: a thread stays with the heads it has in its cache.
inline std::vector<HeadRows> RowsByHead(int rows, int heads, int kv_heads,
                                        int together = kQueryRows) {
  const int most = std::max(1, together / (heads / kv_heads));
  std::vector<HeadRows> parts;
  for (int head = 0; head < kv_heads; ++head)
    for (int row = 0; row < rows; row += most)
      parts.push_back({head, row, std::min(most, rows - row)});
  return parts;
}

}  // namespace banyan

#endif  // BANYAN_CORE_OPS_CPU_HEAD_ROWS_H_
