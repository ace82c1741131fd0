// Where numbers stand in the fragments of a product of matrices (kernel.h), for
// who packs them and who reads them.
//
// Of a tile of 16 rows by 4 n columns, n numbers to a word, lane l's four words
// hold rows l / 4 and l / 4 + 8, in turn, of columns n (l % 4) and on, then the
// same 2 n / 1 columns further: registers a0 to a3. Of 8 rows of activations
// the lane's two words hold row l / 4, of the same columns.
#ifndef BANYAN_CORE_OPS_CUDA_FRAGMENTS_H_
#define BANYAN_CORE_OPS_CUDA_FRAGMENTS_H_

#include <cstdint>

namespace banyan {

// Of a tile 8 `each` columns wide, `each` numbers to a word.
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

BANYAN_ANYWHERE constexpr FragmentPlace InWeightTile(int row, int column,
                                                     int each) {
  const int half = column / (4 * each);
  const int within = column % (4 * each);
  return {.lane = row % 8 * 4 + within / each,
          .word = row / 8 + 2 * half,
          .part = within % each};
}

}  // namespace banyan

#endif  // BANYAN_CORE_OPS_CUDA_FRAGMENTS_H_
