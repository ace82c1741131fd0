#include "core/checkpoint/config_reader.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/status_macros.h"
#include "core/base/token.h"
#include "core/checkpoint/stored_tensor.h"

namespace banyan {
namespace {

using Json = nlohmann::json;

// Goes through a text before it is made a tree: the tree's maker would keep the
// last of two equal keys, and what walks the tree later does so recursively.
class Screen {
 public:
  absl::Status Read(absl::string_view text) {
    Json::sax_parse(text.begin(), text.end(), this);
    return status_;
  }

  bool null() { return true; }
  bool boolean(bool) { return true; }
  bool string(std::string&) { return true; }
  bool binary(Json::binary_t&) { return true; }
  bool number_float(double, const std::string&) { return true; }
  bool number_integer(Json::number_integer_t) { return true; }
  bool number_unsigned(Json::number_unsigned_t) { return true; }
  bool start_array(std::size_t) { return Enter(); }
  bool start_object(std::size_t) { return Enter(); }
  bool end_array() { return Leave(); }
  bool end_object() { return Leave(); }
  bool key(std::string& name) {
    if (keys_.back().insert(name).second) return true;
    return Fail(absl::StrCat(QuotedName(name), " is there twice"));
  }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& fault) {
    constexpr std::size_t kShown = 200;
    const absl::string_view what = fault.what();
    return Fail(absl::StrCat("byte ", position, ": ",
                             absl::CHexEscape(what.substr(0, kShown))));
  }

 private:
  bool Fail(absl::string_view what) {
    status_.Update(absl::InvalidArgumentError(what));
    return false;
  }
  bool Enter() {
    constexpr std::size_t kMaxLevels = 64;
    keys_.emplace_back();
    return keys_.size() <= kMaxLevels || Fail("more than 64 levels");
  }
  bool Leave() {
    keys_.pop_back();
    return true;
  }

  std::vector<std::set<std::string>> keys_;  // of the open lists and objects
  absl::Status status_;
};

absl::StatusOr<Json> ParseJson(absl::string_view text) {
  try {
    Screen screen;
    BANYAN_RETURN_IF_ERROR(screen.Read(text));
    return Json::parse(text.begin(), text.end());
  } catch (const std::exception& fault) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot be read as JSON: ", fault.what()));
  }
}

// What stands there, for messages.
std::string Found(const Json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list";
  constexpr std::size_t kShown = 40;
  const std::string text =
      value.dump(-1, ' ', true, Json::error_handler_t::replace);
  return absl::StrCat(text.substr(0, kShown),
                      text.size() > kShown ? "..." : "");
}

std::optional<std::int64_t> Integer(const Json& value) {
  if (!value.is_number_integer()) return std::nullopt;
  // Above 2^63 the number is kept as an unsigned one.
  if (value.is_number_unsigned() &&
      value.get<std::uint64_t>() > std::uint64_t{1} << 62)
    return std::nullopt;
  return value.get<std::int64_t>();
}

}  // namespace

ConfigReader::ConfigReader(std::shared_ptr<const Json> object,
                           std::string place, std::shared_ptr<Shared> shared)
    : object_(std::move(object)),
      place_(std::move(place)),
      shared_(std::move(shared)) {}

absl::StatusOr<ConfigReader> ConfigReader::Parse(absl::string_view text,
                                                 const std::string& file_name) {
  absl::StatusOr<Json> parsed = ParseJson(text);
  if (!parsed.ok())
    return absl::InvalidArgumentError(
        absl::StrCat(file_name, ": ", parsed.status().message()));
  if (!parsed->is_object())
    return absl::InvalidArgumentError(absl::StrCat(
        file_name, ": expected an object, found ", Found(*parsed)));
  return ConfigReader(
      std::make_shared<const Json>(*std::move(parsed)), "",
      std::make_shared<Shared>(Shared{file_name, absl::OkStatus()}));
}

const std::string& ConfigReader::file_name() const {
  return shared_->file_name;
}

const absl::Status& ConfigReader::status() const { return shared_->status; }

bool ConfigReader::IsGiven(absl::string_view key) const {
  return object_->contains(std::string(key));
}

bool ConfigReader::Has(absl::string_view key) const {
  const auto found = object_->find(std::string(key));
  return found != object_->end() && !found->is_null();
}

const Json* ConfigReader::Find(absl::string_view key) const {
  if (!status().ok() || !Has(key)) return nullptr;
  return &*object_->find(std::string(key));
}

void ConfigReader::Fail(absl::string_view key, absl::string_view message) {
  shared_->status.Update(absl::InvalidArgumentError(
      absl::StrCat(file_name(), ": ", place_, key, ": ", message)));
}

void ConfigReader::Unexpected(absl::string_view key, absl::string_view what) {
  const auto found = object_->find(std::string(key));
  Fail(key,
       absl::StrCat("expected ", what, ", found ",
                    found == object_->end() ? "no such key" : Found(*found)));
}

void ConfigReader::Missing(absl::string_view key, absl::string_view what) {
  if (!Has(key)) Unexpected(key, what);
}

std::optional<int> ConfigReader::Whole(absl::string_view key, int min,
                                       int max) {
  const Json* value = Find(key);
  if (value == nullptr) return std::nullopt;
  const std::optional<std::int64_t> number = Integer(*value);
  if (number.has_value() && *number >= min && *number <= max)
    return static_cast<int>(*number);
  if (!number.has_value() || *number < min) {
    Unexpected(key, min == 1 ? "a positive integer" : "an integer from 0 on");
  } else {
    Unexpected(key, absl::StrCat("at most ", max));
  }
  return std::nullopt;
}

int ConfigReader::Size(absl::string_view key, int max) {
  Missing(key, "a positive integer");
  return SizeOr(key, 1, max);
}

int ConfigReader::SizeOr(absl::string_view key, int fallback, int max) {
  return Whole(key, 1, max).value_or(fallback);
}

int ConfigReader::CountOr(absl::string_view key, int fallback, int max) {
  return Whole(key, 0, max).value_or(fallback);
}

double ConfigReader::Positive(absl::string_view key) {
  Missing(key, "a positive number");
  return PositiveOr(key, 1);
}

double ConfigReader::PositiveOr(absl::string_view key, double fallback) {
  const Json* value = Find(key);
  if (value == nullptr) return fallback;
  const double number = value->is_number() ? value->get<double>() : 0;
  if (number > 0 && std::isfinite(number)) return number;
  Unexpected(key, "a positive number");
  return fallback;
}

bool ConfigReader::Flag(absl::string_view key, bool fallback) {
  const Json* value = Find(key);
  if (value == nullptr) return fallback;
  if (value->is_boolean()) return value->get<bool>();
  Unexpected(key, "true or false");
  return fallback;
}

std::string ConfigReader::Text(absl::string_view key) {
  Missing(key, "a text");
  const std::string text = TextOr(key, "");
  if (text.empty() && status().ok()) Unexpected(key, "a text");
  return text;
}

std::string ConfigReader::TextOr(absl::string_view key,
                                 absl::string_view fallback) {
  const Json* value = Find(key);
  if (value == nullptr) return std::string(fallback);
  if (value->is_string()) return value->get<std::string>();
  Unexpected(key, "a text");
  return std::string(fallback);
}

std::vector<std::string> ConfigReader::Texts(absl::string_view key) {
  const Json* value = Find(key);
  if (value == nullptr) return {};
  std::vector<std::string> texts;
  bool holds = value->is_array();
  for (std::size_t i = 0; holds && i < value->size(); ++i) {
    holds = (*value)[i].is_string();
    if (holds) texts.push_back((*value)[i].get<std::string>());
  }
  if (!holds) Unexpected(key, "a list of texts");
  return texts;
}

std::map<std::string, std::string> ConfigReader::TextMap(
    absl::string_view key) {
  const Json* value = Find(key);
  if (value == nullptr) return {};
  std::map<std::string, std::string> texts;
  if (!value->is_object()) {
    Unexpected(key, "an object of texts");
    return texts;
  }
  for (const auto& [name, text] : value->items()) {
    if (text.is_string())
      texts.emplace(name, text.get<std::string>());
    else
      Fail(key, absl::StrCat(QuotedName(name), ": expected a text, found ",
                             Found(text)));
  }
  return texts;
}

std::vector<TokenId> ConfigReader::Tokens(absl::string_view key,
                                          int vocab_size) {
  const Json* value = Find(key);
  if (value == nullptr) return {};
  std::vector<TokenId> tokens;
  const std::size_t count = value->is_array() ? value->size() : 1;
  for (std::size_t i = 0; i < count; ++i) {
    const Json& item = value->is_array() ? (*value)[i] : *value;
    const std::optional<std::int64_t> token = Integer(item);
    if (!token.has_value() || *token < 0 || *token >= vocab_size) {
      Fail(key, absl::StrCat("expected token ids below ", vocab_size,
                             ", found ", Found(item)));
      return {};
    }
    tokens.push_back(static_cast<TokenId>(*token));
  }
  return tokens;
}

std::vector<int> ConfigReader::Indices(absl::string_view key, int end) {
  const Json* value = Find(key);
  if (value == nullptr) return {};
  if (!value->is_array()) Unexpected(key, "a list of numbers");
  std::vector<int> indices;
  std::int64_t least = 0;
  for (std::size_t i = 0; value->is_array() && i < value->size(); ++i) {
    const std::optional<std::int64_t> index = Integer((*value)[i]);
    if (!index.has_value() || *index < least || *index >= end) {
      Fail(key, absl::StrCat("expected ascending numbers below ", end,
                             ", found ", Found((*value)[i]), " at place ", i));
      return {};
    }
    least = *index + 1;
    indices.push_back(static_cast<int>(*index));
  }
  return indices;
}

ConfigReader ConfigReader::Section(absl::string_view key) {
  const Json* value = Find(key);
  if (value != nullptr && !value->is_object()) {
    Unexpected(key, "an object");
    value = nullptr;
  }
  // The section lives within this reader's tree, which it shares.
  std::shared_ptr<const Json> section =
      value != nullptr ? std::shared_ptr<const Json>(object_, value)
                       : std::make_shared<const Json>(Json::object());
  return ConfigReader(std::move(section), absl::StrCat(place_, key, "."),
                      shared_);
}

bool ConfigReader::HasObjects() const {
  return std::any_of(object_->begin(), object_->end(),
                     [](const Json& value) { return value.is_object(); });
}

}  // namespace banyan
