// Where a number of a weight's tile stands in the words that lanes load: those
// of the first matrix of a product of fragments (kernel.h).
//
// A tile has 16 rows and 8 n columns, n numbers to a word. A lane has four
// words: of rows l / 4 and l / 4 + 8 in columns n (l % 4) on, then of both in
// the same columns of the tile's right half.
#ifndef BANYAN_CORE_OPS_CUDA_DEVICE_FRAGMENTS_H_
#define BANYAN_CORE_OPS_CUDA_DEVICE_FRAGMENTS_H_

#include <cstdint>

namespace banyan {

struct FragmentPlace {
  int lane;
  int word;
  int part;  // of the word, from its low end
};

#ifdef __CUDACC__
#define BANYAN_ANYWHERE __host__ __device__
#else
#define BANYAN_ANYWHERE
#endif

// `each` is n.
BANYAN_ANYWHERE constexpr FragmentPlace InWeightTile(int row, int column,
                                                     int each) {
  const int half = column / (4 * each);
  const int within = column % (4 * each);
  return {.lane = row % 8 * 4 + within / each,
          .word = row / 8 + 2 * half,
          .part = within % each};
}

}  // namespace banyan

#endif  // BANYAN_CORE_OPS_CUDA_DEVICE_FRAGMENTS_H_
