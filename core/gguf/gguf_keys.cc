#include "core/gguf/gguf_keys.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/quoted_name.h"
#include "core/gguf/gguf_file.h"

namespace banyan {
namespace {

std::string TextOf(const GgufValue& value) {
  if (const bool* flag = std::get_if<bool>(&value))
    return *flag ? "true" : "false";
  if (const auto* number = std::get_if<std::int64_t>(&value))
    return absl::StrCat(*number);
  if (const auto* number = std::get_if<double>(&value))
    return absl::StrCat(*number);
  if (const auto* text = std::get_if<absl::string_view>(&value))
    return QuotedName(*text);
  return absl::StrCat("a list of ", std::get<GgufList>(value).count);
}

}  // namespace

bool GgufKeys::Has(absl::string_view key) const {
  return contents_.keys.find(key) != contents_.keys.end();
}

void GgufKeys::Fail(absl::string_view key, absl::string_view message) {
  errors_.Add(absl::InvalidArgumentError(
      absl::StrCat(file_, ": ", key, ": ", message)));
}

void GgufKeys::Unexpected(absl::string_view key, absl::string_view what) {
  const auto found = contents_.keys.find(key);
  Fail(key,
       absl::StrCat("expected ", what, ", found ",
                    found == contents_.keys.end() ? "no such key"
                                                  : TextOf(found->second)));
}

std::int64_t GgufKeys::Count(absl::string_view key) {
  const auto found = contents_.keys.find(key);
  if (found != contents_.keys.end())
    if (const auto* number = std::get_if<std::int64_t>(&found->second))
      if (*number >= 0) return *number;
  Unexpected(key, "a whole number");
  return 0;
}

std::int64_t GgufKeys::CountOr(absl::string_view key, std::int64_t fallback) {
  return Has(key) ? Count(key) : fallback;
}

double GgufKeys::Real(absl::string_view key) {
  const auto found = contents_.keys.find(key);
  if (found != contents_.keys.end()) {
    if (const auto* number = std::get_if<double>(&found->second))
      if (std::isfinite(*number)) return *number;
    if (const auto* number = std::get_if<std::int64_t>(&found->second))
      return static_cast<double>(*number);
  }
  Unexpected(key, "a number");
  return 0;
}

double GgufKeys::RealOr(absl::string_view key, double fallback) {
  return Has(key) ? Real(key) : fallback;
}

bool GgufKeys::FlagOr(absl::string_view key, bool fallback) {
  const auto found = contents_.keys.find(key);
  if (found == contents_.keys.end()) return fallback;
  if (const bool* flag = std::get_if<bool>(&found->second)) return *flag;
  Unexpected(key, "true or false");
  return fallback;
}

std::string GgufKeys::Text(absl::string_view key) {
  const auto found = contents_.keys.find(key);
  if (found != contents_.keys.end())
    if (const auto* text = std::get_if<absl::string_view>(&found->second))
      return std::string(*text);
  Unexpected(key, "a text");
  return "";
}

std::string GgufKeys::TextOr(absl::string_view key,
                             absl::string_view fallback) {
  return Has(key) ? Text(key) : std::string(fallback);
}

const GgufList* GgufKeys::List(absl::string_view key, absl::string_view what) {
  const auto found = contents_.keys.find(key);
  if (found == contents_.keys.end()) return nullptr;
  const auto* list = std::get_if<GgufList>(&found->second);
  if (list == nullptr) Unexpected(key, what);
  return list;
}

std::vector<absl::string_view> GgufKeys::Texts(absl::string_view key) {
  const GgufList* list = List(key, "a list of texts");
  if (list == nullptr) return {};
  std::vector<absl::string_view> texts = GgufTexts(*list);
  if (texts.size() != list->count) Unexpected(key, "a list of texts");
  return texts;
}

std::vector<double> GgufKeys::Numbers(absl::string_view key) {
  const GgufList* list = List(key, "a list of numbers");
  if (list == nullptr) return {};
  std::vector<double> numbers = GgufNumbers(*list);
  if (numbers.size() != list->count) Unexpected(key, "a list of numbers");
  return numbers;
}

}  // namespace banyan
