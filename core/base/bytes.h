// Numbers and strings as bytes that one part of a program writes and the same
// part reads again, wherever the bytes were kept.
#ifndef BANYAN_CORE_BASE_BYTES_H_
#define BANYAN_CORE_BASE_BYTES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace banyan {

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

}  // namespace banyan

#endif  // BANYAN_CORE_BASE_BYTES_H_
