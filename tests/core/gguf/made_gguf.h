// GGUF files, byte by byte, right and wrong.
#ifndef BANYAN_TESTS_CORE_GGUF_MADE_GGUF_H_
#define BANYAN_TESTS_CORE_GGUF_MADE_GGUF_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "core/base/common.h"

namespace banyan {

template <typename T>
std::string Raw(T number) {
  std::string bytes(sizeof(T), '\0');
  std::memcpy(bytes.data(), &number, sizeof(T));
  return bytes;
}

inline std::string RawText(absl::string_view text) {
  return absl::StrCat(Raw<std::uint64_t>(text.size()), text);
}

inline absl::Span<const std::byte> AsBytes(absl::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

class MadeGguf {
 public:
  MadeGguf& Count(absl::string_view key, std::uint32_t number) {
    return Key(key, 4, Raw(number));
  }
  MadeGguf& Real(absl::string_view key, float number) {
    return Key(key, 6, Raw(number));
  }
  MadeGguf& Flag(absl::string_view key, bool flag) {
    return Key(key, 7, Raw(static_cast<std::uint8_t>(flag)));
  }
  MadeGguf& Text(absl::string_view key, absl::string_view text) {
    return Key(key, 8, RawText(text));
  }
  MadeGguf& Texts(absl::string_view key,
                  const std::vector<std::string>& texts) {
    std::string items;
    for (const std::string& text : texts)
      absl::StrAppend(&items, RawText(text));
    return List(key, 8, texts.size(), items);
  }
  MadeGguf& Reals(absl::string_view key, const std::vector<float>& numbers) {
    std::string items;
    for (float number : numbers) absl::StrAppend(&items, Raw(number));
    return List(key, 6, numbers.size(), items);
  }
  MadeGguf& Ints(absl::string_view key,
                 const std::vector<std::int32_t>& numbers) {
    std::string items;
    for (std::int32_t number : numbers) absl::StrAppend(&items, Raw(number));
    return List(key, 5, numbers.size(), items);
  }
  MadeGguf& List(absl::string_view key, std::uint32_t type, std::uint64_t count,
                 const std::string& items) {
    return Key(key, 9, absl::StrCat(Raw(type), Raw(count), items));
  }
  // A value of any type, its bytes as they are.
  MadeGguf& Key(absl::string_view key, std::uint32_t type,
                const std::string& value) {
    absl::StrAppend(&keys_, RawText(key), Raw(type), value);
    ++key_count;
    return *this;
  }

  // Sizes with the fastest first; data at the next place that is aligned.
  MadeGguf& Tensor(absl::string_view name,
                   const std::vector<std::uint64_t>& sizes, std::uint32_t type,
                   const std::string& data) {
    data_.resize((data_.size() + 31) / 32 * 32);
    TensorAt(name, sizes, type, data_.size());
    data_ += data;
    return *this;
  }
  MadeGguf& TensorAt(absl::string_view name,
                     const std::vector<std::uint64_t>& sizes,
                     std::uint32_t type, std::uint64_t offset) {
    absl::StrAppend(&tensors_, RawText(name),
                    Raw(static_cast<std::uint32_t>(sizes.size())));
    for (const std::uint64_t size : sizes)
      absl::StrAppend(&tensors_, Raw(size));
    absl::StrAppend(&tensors_, Raw(type), Raw(offset));
    ++tensor_count;
    return *this;
  }
  MadeGguf& Data(const std::string& data) {
    data_ += data;
    return *this;
  }

  std::string Bytes() const {
    std::string bytes = absl::StrCat("GGUF", Raw(version), Raw(tensor_count),
                                     Raw(key_count), keys_, tensors_);
    bytes.resize((bytes.size() + 31) / 32 * 32);
    return bytes + data_;
  }

  std::uint32_t version = 3;
  std::uint64_t tensor_count = 0;
  std::uint64_t key_count = 0;

 private:
  std::string keys_;
  std::string tensors_;
  std::string data_;
};

}  // namespace banyan

#endif  // BANYAN_TESTS_CORE_GGUF_MADE_GGUF_H_
