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

// Query rows that share a read of the keys, at most; and, in tile registers,
// what keys become there. With fewer keys are read more often; the scores of
// more leave the second-level cache.
inline constexpr int kQueryRows = 48;
inline constexpr int kRegisterQueryRows = 96;

// All rows of all heads, at most `together` query rows at once. Where parts are
// few there are as many as `threads` share evenly, of at least kLeastRows query
// rows. Heads vary slowest: a thread stays with the heads it has in its cache.
inline std::vector<HeadRows> RowsByHead(int rows, int heads, int kv_heads,
                                        int threads,
                                        int together = kQueryRows) {
  constexpr int kFew = 8;  // parts a thread
  constexpr int kLeastRows = 12;
  const int group = heads / kv_heads;
  const int most = std::max(1, together / group);
  int count = (rows + most - 1) / most;
  while (kv_heads * count < kFew * threads && kv_heads * count % threads != 0 &&
         rows * group >= kLeastRows * (count + 1))
    ++count;
  std::vector<HeadRows> parts;
  for (int head = 0; head < kv_heads; ++head)
    for (int i = 0; i < count; ++i) {
      const int first = rows * i / count;
      parts.push_back({head, first, rows * (i + 1) / count - first});
    }
  return parts;
}

}  // namespace banyan

#endif  // BANYAN_CORE_OPS_CPU_HEAD_ROWS_H_
