// A JSON value to be written. Keys stay in their order.
//
//   JsonValue out = {{"name", name}, {"sizes", sizes}};
//   out["rows"].Add({{"tokens", 4}, {"ms", 1.5}});
//   std::cout << out.Text(2) << "\n";
#ifndef BANYAN_CORE_JSON_JSON_VALUE_H_
#define BANYAN_CORE_JSON_JSON_VALUE_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/json/json_reader.h"

namespace banyan {

class JsonValue {
 public:
  JsonValue() = default;  // null
  JsonValue(std::nullptr_t) {}
  explicit JsonValue(JsonScalar scalar) : scalar_(std::move(scalar)) {}
  JsonValue(bool value) : scalar_(value) {}
  template <std::signed_integral T>
  JsonValue(T value) : scalar_(static_cast<std::int64_t>(value)) {}
  template <std::unsigned_integral T>
  JsonValue(T value) : scalar_(static_cast<std::uint64_t>(value)) {}
  template <std::floating_point T>
  JsonValue(T value) : scalar_(static_cast<double>(value)) {}
  JsonValue(const char* text) : scalar_(std::string(text)) {}
  JsonValue(std::string text) : scalar_(std::move(text)) {}
  JsonValue(absl::string_view text) : scalar_(std::string(text)) {}
  // Null without a value.
  template <typename T>
  JsonValue(const std::optional<T>& value)
      : JsonValue(value ? JsonValue(*value) : JsonValue()) {}
  template <typename T>
  JsonValue(const std::vector<T>& items) : kind_(Kind::kList) {
    for (const auto& item : items) items_.emplace_back(item);
  }
  // An object; no key comes twice.
  JsonValue(
      std::initializer_list<std::pair<absl::string_view, JsonValue>> entries);

  static JsonValue List();
  static JsonValue Object();

  bool is_null() const {
    return kind_ == Kind::kScalar &&
           std::holds_alternative<std::nullptr_t>(scalar_);
  }
  // The value of a key, null where it is new. Requires an object, or null,
  // which becomes one.
  JsonValue& operator[](absl::string_view key);
  // Gives the item where it stands. Requires a list, or null, which becomes
  // one.
  JsonValue& Add(JsonValue item);

  // Without `indent` all on one line. Bytes that are not UTF-8 become U+FFFD,
  // and numbers that are not finite null.
  std::string Text(int indent = -1) const;

 private:
  enum class Kind { kScalar, kList, kObject };

  void Append(int indent, int depth, std::string& out) const;

  Kind kind_ = Kind::kScalar;
  JsonScalar scalar_;
  std::vector<std::string> keys_;  // of an object, with an item each
  std::vector<JsonValue> items_;
};

// Null for "".
JsonValue NullIfEmpty(absl::string_view text);

}  // namespace banyan

#endif  // BANYAN_CORE_JSON_JSON_VALUE_H_
