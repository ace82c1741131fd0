#include "core/tokenizer/steps/both_ways.h"

#include <array>
#include <cstddef>

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

absl::StatusOr<Metaspace> ReadMetaspace(const JsonAt& json) {
  BANYAN_RETURN_IF_ERROR(
      json.HasOnly({"type", "replacement", "prepend_scheme", "split",
                    "add_prefix_space", "str_rep"}));
  Metaspace result;
  BANYAN_ASSIGN_OR_RETURN(result.replacement,
                          json.At("replacement").Character());
  BANYAN_ASSIGN_OR_RETURN(result.splits, json.At("split").BoolOr(true));
  const JsonAt older = json.At("add_prefix_space");
  BANYAN_ASSIGN_OR_RETURN(const bool adds, older.BoolOr(true));
  const JsonAt scheme = json.At("prepend_scheme");
  BANYAN_ASSIGN_OR_RETURN(const std::string name,
                          scheme.StringOr(adds ? "always" : "never"));
  if (name == "first") {
    result.prepend = Metaspace::Prepend::kFirst;
  } else if (name == "never") {
    result.prepend = Metaspace::Prepend::kNever;
  } else if (name != "always") {
    return scheme.Expected("first, always or never");
  }
  if (!adds && result.prepend != Metaspace::Prepend::kNever)
    return older.Error("false contradicts prepend_scheme; expected never");
  return result;
}

}  // namespace banyan
