// Where a number of a weight's tile stands in the words that lanes load: those
// of the first matrix of a product of fragments (kernel.h).
//
// A tile has 16 rows and 8 n columns, n numbers to a word. A lane has four
// words: of rows l / 4 and l / 4 + 8 in columns 2 n (l % 4) on, then of both in
// the n columns after those. So a lane's columns are neighbours, and it reads
// what it multiplies by at once. (The instruction adds all products of a tile's
// row in one step or two: which column stands for which is free, as long as
// both factors agree.)
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

// In which order a weight's rows stand in its tiles. Rows that are wanted
// together (RowPairs, core/ops/weight.h) come first, eight pairs a tile: its
// row r and r + 8 are a pair. What the last of these tiles lacks is zeros. The
// other rows follow as they are.
struct RowOrder {
  int rows = 0;
  int pairs = 0;
  int distance = 0;

  BANYAN_ANYWHERE constexpr int paired_tiles() const { return (pairs + 7) / 8; }
  // All rows that are stored.
  BANYAN_ANYWHERE constexpr int stored() const {
    return paired_tiles() * 16 + rows - 2 * pairs;
  }
  // Where a row is stored, and which one is stored there, -1 for zeros.
  BANYAN_ANYWHERE constexpr int Stored(int row) const {
    if (row >= 2 * pairs) return paired_tiles() * 16 + row - 2 * pairs;
    const int pair = row / (2 * distance) * distance + row % distance;
    return pair / 8 * 16 + row / distance % 2 * 8 + pair % 8;
  }
  BANYAN_ANYWHERE constexpr int Row(int stored) const {
    if (stored >= paired_tiles() * 16)
      return stored - paired_tiles() * 16 + 2 * pairs;
    const int pair = stored / 16 * 8 + stored % 8;
    if (pair >= pairs) return -1;
    return Low(pair) + stored % 16 / 8 * distance;
  }
  // The first row of a pair.
  BANYAN_ANYWHERE constexpr int Low(int pair) const {
    return pair / distance * 2 * distance + pair % distance;
  }
};

// `each` is n.
BANYAN_ANYWHERE constexpr FragmentPlace InWeightTile(int row, int column,
                                                     int each) {
  const int place = column / (2 * each);
  const int within = column % (2 * each);
  return {.lane = row % 8 * 4 + place,
          .word = row / 8 + within / each * 2,
          .part = within % each};
}

}  // namespace banyan

#endif  // BANYAN_CORE_OPS_CUDA_DEVICE_FRAGMENTS_H_
