// FNV-1a (Fowler, Noll, Vo), 64 bits: a name for bytes, no proof against
// malice.
#ifndef BANYAN_CORE_BASE_FNV1A_H_
#define BANYAN_CORE_BASE_FNV1A_H_

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace banyan {

inline constexpr std::uint64_t kFnv1aStart = 0xcbf29ce484222325;

// Goes on from the name of the bytes before.
inline std::uint64_t Fnv1a(absl::Span<const std::byte> bytes,
                           std::uint64_t before = kFnv1aStart) {
  std::uint64_t name = before;
  for (std::byte byte : bytes)
    name = (name ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001b3;
  return name;
}

// The bytes of a text.
inline absl::Span<const std::byte> BytesOf(absl::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

inline std::uint64_t Fnv1a(absl::string_view text) {
  return Fnv1a(BytesOf(text));
}

// A name that looks random in all its bits, which the last bytes of a text
// reach only in part (Stafford's variant 13 of the finaliser of
// MurmurHash3).
inline std::uint64_t Mixed(std::uint64_t name) {
  name = (name ^ (name >> 30)) * 0xbf58476d1ce4e5b9;
  name = (name ^ (name >> 27)) * 0x94d049bb133111eb;
  return name ^ (name >> 31);
}

}  // namespace banyan

#endif  // BANYAN_CORE_BASE_FNV1A_H_
