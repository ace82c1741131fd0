#include "core/ops/cpu/tiles.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace banyan {

TileConfig::TileConfig(Shape sums, Shape left, Shape right) {
  const auto set = [this](int first, int end, Shape shape) {
    for (int tile = first; tile < end; ++tile) {
      rows[tile] = static_cast<std::uint8_t>(shape.rows);
      bytes[tile] = static_cast<std::uint16_t>(shape.bytes);
    }
  };
  set(0, kFirstLeft, sums);
  set(kFirstLeft, kFirstRight, left);
  set(kFirstRight, kTileRegisters, right);
}

#if defined(__x86_64__)
namespace {

// Tiles, and products of bfloat16.
bool HasAmx() {
  constexpr unsigned kWanted = 1U << 24 | 1U << 22;
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 &&
         (d & kWanted) == kWanted;
}

AmxState Ask() {
  if (!HasAmx()) return AmxState::kAbsent;
  constexpr int kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr int kTileData = 18;               // XFEATURE_XTILE_DATA
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0
             ? AmxState::kAllowed
             : AmxState::kRefused;
}

}  // namespace

AmxState AskForAmx() {
  static const AmxState state = Ask();
  return state;
}
#else
AmxState AskForAmx() { return AmxState::kAbsent; }
#endif

}  // namespace banyan
