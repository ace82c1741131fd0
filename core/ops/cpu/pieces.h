// Pieces: something cut into pieces that are as equal as can be.
#ifndef BANYAN_CORE_OPS_CPU_PIECES_H_
#define BANYAN_CORE_OPS_CPU_PIECES_H_

#include <cstdint>

namespace banyan {

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

}  // namespace banyan

#endif  // BANYAN_CORE_OPS_CPU_PIECES_H_
