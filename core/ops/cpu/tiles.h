// Tile registers: eight registers of up to 16 rows of 64 bytes, and products of
// whole registers. Intel AMX has them (AmxTiles below); tiles-inl.h makes the
// same in plain vectors, to the last bit, for processors without it.
//
// Both are used alike. A register's rows and bytes are set once, by the
// configuration:
//
//   Tiles tiles(config);
//   tiles.template Load<4>(rows, stride);
//   tiles.template MultiplyPairs<0, 4, 6>();  // register 0 += register 4 *
//   register 6
//
// MultiplyPairs: bfloat16. Element [m][n] of the sum grows by the product of
// row m of the second register and column n of the third, whose row k holds the
// numbers 2 k and 2 k + 1 of every column side by side. Even and odd numbers
// have a sum each, from 0, one fused multiply-add a number in order; both are
// added, then the whole to the element. Subnormal numbers count as 0, read and
// written.
//
// Products of bytes are left to vectors: a block of 32 has scales of its own,
// so its sums leave a register at once, and registers gain nothing
// (docs/findings.md).
#ifndef BANYAN_CORE_OPS_CPU_TILES_H_
#define BANYAN_CORE_OPS_CPU_TILES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace banyan {

inline constexpr int kTileRegisters = 8;
inline constexpr std::size_t kRegisterRows = 16;
inline constexpr std::size_t kRegisterBytes = 64;  // of a row

// Who multiplies.
enum class TileMaker { kNone, kAmx, kEmulated };

// As the instruction LDTILECFG reads it.
struct alignas(64) TileConfig {
  struct Shape {
    int rows;
    int bytes;
  };
  // The registers for sums, for what is multiplied, and for what it is
  // multiplied by.
  TileConfig(Shape sums, Shape left, Shape right);

  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t zeros[14] = {};
  std::uint16_t bytes[16] = {};
  std::uint8_t rows[16] = {};
};
// Registers 0 to 3 hold sums, 4 and 5 the left factors, 6 and 7 the right ones.
inline constexpr int kFirstLeft = 4;
inline constexpr int kFirstRight = 6;

// For products of up to sixteen of `rows` rows: one takes as long as it has
// rows.
inline TileConfig PairConfig(int rows) {
  const int some = std::min<int>(rows, kRegisterRows);
  return {{some, 64}, {some, 64}, {16, 64}};
}

// Rows of activations in two bfloat16 parts, padded with zeros to whole blocks
// of kPairColumns. Each part has sixteen rows of a block after each other, as a
// register takes them, then those of the next block: rows that lie a power of
// two apart would push each other out of the first-level cache.
inline constexpr std::size_t kPairColumns = 32;
struct SplitRows {
  // From a multiple of sixteen on.
  SplitRows From(std::size_t row) const {
    return {high + row * stride, low + row * stride, stride};
  }
  // Where a row's numbers from `column`, a block's first, stand.
  std::size_t Place(std::size_t row, std::size_t column) const {
    return row / kRegisterRows * kRegisterRows * stride +
           column * kRegisterRows + row % kRegisterRows * kPairColumns;
  }

  std::uint16_t* high;
  std::uint16_t* low;
  std::size_t stride;  // numbers of a row
};

enum class AmxState {
  kAbsent,   // the processor lacks it
  kRefused,  // the system does not let this process use it
  kAllowed
};
// Asks the system once. To be called before threads start.
AmxState AskForAmx();

#if defined(__x86_64__)
// The instructions, written out: no compiler option is needed, and no processor
// but those with AMX gets here.
class AmxTiles {
 public:
  explicit AmxTiles(const TileConfig& config) {
    asm volatile("ldtilecfg %0" ::"m"(config));
  }
  ~AmxTiles() { asm volatile("tilerelease"); }
  AmxTiles(const AmxTiles&) = delete;
  AmxTiles& operator=(const AmxTiles&) = delete;

  template <int kTile>
  void Zero() {
    asm volatile("tilezero %%tmm%c0" ::"i"(kTile));
  }
  // Rows that are `stride` bytes apart.
  template <int kTile>
  void Load(const void* from, std::size_t stride) {
    asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(from), "r"(stride),
                 "i"(kTile)
                 : "memory");
  }
  template <int kTile>
  void Store(void* to, std::size_t stride) {
    asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(to), "r"(stride),
                 "i"(kTile)
                 : "memory");
  }
  template <int kSum, int kLeft, int kRight>
  void MultiplyPairs() {
    asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kSum),
                 "i"(kLeft), "i"(kRight));
  }
};
#endif

}  // namespace banyan

#endif  // BANYAN_CORE_OPS_CPU_TILES_H_
