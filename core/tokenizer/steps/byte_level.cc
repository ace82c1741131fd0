#include "core/tokenizer/steps/byte_level.h"

#include <array>
#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"
#include "core/tokenizer/patterns/unicode.h"

namespace banyan {
namespace {

constexpr int kBytes = 256;
constexpr int kMoved = 68;

constexpr bool StandsForItself(int byte) {
  return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) ||
         byte >= 174;
}

struct ByteMap {
  std::array<int, kBytes> character{};      // of a byte
  std::array<int, kBytes + kMoved> byte{};  // of a character, or -1
};

constexpr ByteMap MakeByteMap() {
  ByteMap map;
  for (int& byte : map.byte) byte = -1;
  int next = kBytes;
  for (int byte = 0; byte < kBytes; ++byte) {
    const int character = StandsForItself(byte) ? byte : next++;
    map.character[static_cast<std::size_t>(byte)] = character;
    map.byte[static_cast<std::size_t>(character)] = byte;
  }
  return map;
}

constexpr ByteMap kMap = MakeByteMap();

}  // namespace

std::string BytesToCharacters(absl::string_view bytes) {
  std::string text;
  text.reserve(2 * bytes.size());
  for (const char byte : bytes) {
    const int character = kMap.character[static_cast<unsigned char>(byte)];
    if (character < 0x80) {
      text.push_back(static_cast<char>(character));
    } else {  // below 324: two bytes of UTF-8
      text.push_back(static_cast<char>(0xC0 | (character >> 6)));
      text.push_back(static_cast<char>(0x80 | (character & 0x3F)));
    }
  }
  return text;
}

std::string CharactersToBytes(absl::string_view text) {
  std::string bytes;
  bytes.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = CodePointAt(text, at);
    if (point.value >= kMap.byte.size() || kMap.byte[point.value] < 0)
      return std::string(text);
    bytes.push_back(static_cast<char>(kMap.byte[point.value]));
    at += point.bytes;
  }
  return bytes;
}

}  // namespace banyan
