#include "core/tokenizer/json_at.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/base/nearest.h"
#include "core/base/params.h"
#include "core/base/status_macros.h"
#include "core/tokenizer/unicode.h"

namespace banyan {
namespace {

using Json = nlohmann::json;

// Real files nest a handful of levels; what walks a value may recurse.
constexpr int kMaxDepth = 64;

absl::Status ErrorInText(absl::string_view text, std::size_t offset,
                         const std::string& file, absl::string_view message) {
  const absl::string_view before = text.substr(0, offset);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  return ErrorAt(
      {std::make_shared<const std::string>(file), static_cast<int>(line),
       static_cast<int>(before.size() - line_start) + 1},
      message);
}

// The offset of the first bracket below kMaxDepth others; npos if none.
std::size_t FindTooDeep(absl::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
      continue;
    }
    if (c == '"') in_string = true;
    if (c == ']' || c == '}') --depth;
    if ((c == '[' || c == '{') && ++depth > kMaxDepth) return i;
  }
  return absl::string_view::npos;
}

// What stands there, for messages. Long texts are cut.
std::string Found(const Json* json) {
  constexpr std::size_t kShown = 60;
  if (json == nullptr) return "nothing";
  if (json->is_array()) return "a list";
  if (json->is_object()) return "an object";
  const std::string text =
      json->dump(-1, ' ', false, Json::error_handler_t::replace);
  std::size_t shown = std::min(kShown, text.size());
  while (shown > 0 && shown < text.size() && (text[shown] & 0xC0) == 0x80)
    --shown;
  return shown < text.size() ? absl::StrCat(text.substr(0, shown), "...")
                             : text;
}

}  // namespace

absl::StatusOr<Json> ParseJson(absl::string_view text,
                               const std::string& file) {
  const std::size_t too_deep = FindTooDeep(text);
  if (too_deep != absl::string_view::npos)
    return ErrorInText(
        text, too_deep, file,
        absl::StrCat("nests deeper than ", kMaxDepth, " levels"));
  try {
    return Json::parse(text.begin(), text.end());
  } catch (const Json::parse_error& fault) {
    // "[json.exception.NAME] parse error at PLACE: REASON": the place is ours.
    absl::string_view reason = fault.what();
    const std::size_t place = reason.find(": ");
    if (place != absl::string_view::npos) reason.remove_prefix(place + 2);
    const std::size_t offset =
        std::min(text.size(), fault.byte == 0 ? 0 : fault.byte - 1);
    return ErrorInText(text, offset, file,
                       absl::StrCat("not valid JSON: ", reason));
  } catch (const std::exception& fault) {
    return ErrorInText(text, 0, file,
                       absl::StrCat("cannot be read as JSON: ", fault.what()));
  }
}

JsonAt::JsonAt(const Json& json, const std::string& file)
    : JsonAt(&json, std::make_shared<const std::string>(file), "") {}

JsonAt::JsonAt(const Json* json, std::shared_ptr<const std::string> file,
               std::string path)
    : json_(json), file_(std::move(file)), path_(std::move(path)) {}

JsonAt JsonAt::At(absl::string_view key) const {
  const Json* child = nullptr;
  if (is_object()) {
    const auto found = json_->find(std::string(key));
    if (found != json_->end()) child = &*found;
  }
  return JsonAt(child, file_,
                absl::StrCat(path_, path_.empty() ? "" : ".", key));
}

JsonAt JsonAt::At(std::size_t index) const {
  return JsonAt(&(*json_)[index], file_, absl::StrCat(path_, "[", index, "]"));
}

absl::StatusOr<std::vector<JsonAt>> JsonAt::Items() const {
  if (json_ == nullptr || !json_->is_array()) return Expected("a list");
  std::vector<JsonAt> items;
  for (std::size_t i = 0; i < json_->size(); ++i) items.push_back(At(i));
  return items;
}

absl::StatusOr<std::string> JsonAt::String() const {
  if (!is_string()) return Expected("a text");
  return *json_->get_ptr<const std::string*>();
}

absl::StatusOr<std::int64_t> JsonAt::Int() const {
  if (json_ == nullptr || !json_->is_number_integer() ||
      (json_->is_number_unsigned() &&
       *json_->get_ptr<const std::uint64_t*>() > INT64_MAX))
    return Expected("a whole number");
  return json_->get<std::int64_t>();
}

absl::StatusOr<bool> JsonAt::Bool() const {
  if (json_ == nullptr || !json_->is_boolean())
    return Expected("true or false");
  return json_->get<bool>();
}

absl::StatusOr<std::string> JsonAt::StringOr(absl::string_view absent) const {
  if (is_null()) return std::string(absent);
  return String();
}

absl::StatusOr<bool> JsonAt::BoolOr(bool absent) const {
  if (is_null()) return absent;
  return Bool();
}

absl::StatusOr<std::string> JsonAt::Character() const {
  BANYAN_ASSIGN_OR_RETURN(std::string text, String());
  if (text.empty() || WholeCharacter(text) != text.size())
    return Expected("one character");
  return text;
}

absl::Status JsonAt::HasOnly(absl::Span<const absl::string_view> known) const {
  if (!is_object()) return Expected("an object");
  for (const auto& [key, value] : json_->items())
    if (std::find(known.begin(), known.end(), key) == known.end())
      return At(key).Error(UnknownName("key", key, known));
  return absl::OkStatus();
}

absl::Status JsonAt::Error(absl::string_view message) const {
  return absl::InvalidArgumentError(
      absl::StrCat(*file_, ": ", path_, path_.empty() ? "" : ": ", message));
}

absl::Status JsonAt::Expected(absl::string_view what) const {
  return Error(absl::StrCat("expected ", what, ", found ", Found(json_)));
}

}  // namespace banyan
