#include "core/json/json_value.h"

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/check.h"
#include "core/json/json_reader.h"

namespace banyan {
JsonValue::JsonValue(
    std::initializer_list<std::pair<absl::string_view, JsonValue>> entries)
    : kind_(Kind::kObject) {
  for (const auto& [key, value] : entries) {
    keys_.emplace_back(key);
    items_.push_back(value);
  }
}

JsonValue JsonValue::List() {
  JsonValue list;
  list.kind_ = Kind::kList;
  return list;
}

JsonValue JsonValue::Object() {
  JsonValue object;
  object.kind_ = Kind::kObject;
  return object;
}

JsonValue& JsonValue::operator[](absl::string_view key) {
  if (is_null()) kind_ = Kind::kObject;
  Check(kind_ == Kind::kObject, "a key of what is no object");
  const auto place = std::find(keys_.begin(), keys_.end(), key);
  if (place != keys_.end())
    return items_[static_cast<std::size_t>(place - keys_.begin())];
  keys_.emplace_back(key);
  return items_.emplace_back();
}

JsonValue& JsonValue::Add(JsonValue item) {
  if (is_null()) kind_ = Kind::kList;
  Check(kind_ == Kind::kList, "an item of what is no list");
  return items_.emplace_back(std::move(item));
}

std::string JsonValue::Text(int indent) const {
  std::string text;
  Append(indent, 0, text);
  return text;
}

void JsonValue::Append(int indent, int depth, std::string& out) const {
  if (kind_ == Kind::kScalar) {
    absl::StrAppend(&out, Written(scalar_));
    return;
  }
  const bool is_list = kind_ == Kind::kList;
  const auto new_line = [&](int level) {
    if (indent < 0 || items_.empty()) return;
    out += '\n';
    out.append(static_cast<std::size_t>(indent * level), ' ');
  };
  out += is_list ? '[' : '{';
  for (std::size_t i = 0; i < items_.size(); ++i) {
    if (i > 0) out += ',';
    new_line(depth + 1);
    if (!is_list)
      absl::StrAppend(&out, Written(keys_[i]), indent < 0 ? ":" : ": ");
    items_[i].Append(indent, depth + 1, out);
  }
  new_line(depth);
  out += is_list ? ']' : '}';
}

JsonValue NullIfEmpty(absl::string_view text) {
  return text.empty() ? JsonValue() : JsonValue(text);
}

}  // namespace banyan
