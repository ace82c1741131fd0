#include "core/base/bytes.h"

#include "core/base/check.h"

namespace banyan {
namespace {

constexpr int kNumberBytes = 4;
constexpr int kBitsOfByte = 8;

}  // namespace

void ByteWriter::Put(std::uint32_t number) {
  for (int i = 0; i < kNumberBytes; ++i)
    bytes_.push_back(static_cast<char>(number >> (i * kBitsOfByte) & 0xFFU));
}

void ByteWriter::Put(absl::string_view text) {
  Check(text.size() <= UINT32_MAX, "a string whose length can be written");
  Put(static_cast<std::uint32_t>(text.size()));
  bytes_.append(text.data(), text.size());
}

absl::string_view ByteReader::Next(std::size_t count) {
  if (count > left_.size()) {
    short_ = true;
    left_ = {};
    return {};
  }
  const absl::string_view next = left_.substr(0, count);
  left_.remove_prefix(count);
  return next;
}

std::uint32_t ByteReader::Number() {
  std::uint32_t number = 0;
  int shift = 0;
  for (char byte : Next(kNumberBytes)) {
    number |= std::uint32_t{static_cast<unsigned char>(byte)} << shift;
    shift += kBitsOfByte;
  }
  return number;
}

absl::string_view ByteReader::String() { return Next(Number()); }

absl::Status ByteReader::Finish() const {
  if (short_)
    return absl::DataLossError(
        absl::StrCat("more was expected after ", size_, " bytes"));
  if (!left_.empty())
    return absl::DataLossError(
        absl::StrCat(left_.size(), " of ", size_, " bytes are left unread"));
  return absl::OkStatus();
}

}  // namespace banyan
