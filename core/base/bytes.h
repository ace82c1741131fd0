// Bytes: numbers and strings as bytes, and checksums and names of bytes.
#ifndef BANYAN_CORE_BASE_BYTES_H_
#define BANYAN_CORE_BASE_BYTES_H_

#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/base/common.h"

namespace banyan {

// Numbers and strings as bytes that one part of a program writes and the same
// part reads again, wherever the bytes were kept.

// A number has four bytes, the lowest first; a string comes after its length.
class ByteWriter {
 public:
  void Put(std::uint32_t number);
  void Put(absl::string_view text);
  std::string Take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// Reads in the order of writing. What is not there reads as 0 and empty, and
// Finish() says so.
class ByteReader {
 public:
  // `bytes` outlive the reader and what it reads.
  explicit ByteReader(absl::string_view bytes)
      : left_(bytes), size_(bytes.size()) {}

  std::uint32_t Number();
  absl::string_view String();
  bool done() const { return left_.empty(); }

  // DataLoss unless everything was there and has been read.
  absl::Status Finish() const;

 private:
  absl::string_view Next(std::size_t count);

  absl::string_view left_;
  std::size_t size_;
  bool short_ = false;
};

// CRC-32 of bytes, as zlib and PNG have it: tells of damage, not of malice.
inline std::uint32_t Crc32(absl::Span<const std::byte> bytes) {
  return static_cast<std::uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

// FNV-1a (Fowler, Noll, Vo), 64 bits: a name for bytes, no proof against
// malice.

inline constexpr std::uint64_t kFnv1aStart = 0xcbf29ce484222325;

// Goes on from the name of the bytes before.
inline std::uint64_t Fnv1a(absl::Span<const std::byte> bytes,
                           std::uint64_t before = kFnv1aStart) {
  std::uint64_t name = before;
  for (std::byte byte : bytes)
    name = (name ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001b3;
  return name;
}

// The bytes of numbers.
template <typename T>
absl::Span<std::byte> AsBytes(absl::Span<T> numbers) {
  return {reinterpret_cast<std::byte*>(numbers.data()),
          numbers.size() * sizeof(T)};
}
template <typename T>
absl::Span<std::byte> AsBytes(std::vector<T>& numbers) {
  return AsBytes(absl::MakeSpan(numbers));
}
template <typename T>
absl::Span<const std::byte> AsBytes(const std::vector<T>& numbers) {
  return {reinterpret_cast<const std::byte*>(numbers.data()),
          numbers.size() * sizeof(T)};
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

#endif  // BANYAN_CORE_BASE_BYTES_H_
