// CRC-32 of bytes, as zlib and PNG have it: tells of damage, not of malice.
#ifndef BANYAN_CORE_BASE_CRC32_H_
#define BANYAN_CORE_BASE_CRC32_H_

#include <zlib.h>

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"

namespace banyan {

inline std::uint32_t Crc32(absl::Span<const std::byte> bytes) {
  return static_cast<std::uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

}  // namespace banyan

#endif  // BANYAN_CORE_BASE_CRC32_H_
