#include "core/checkpoint/architecture.h"

#include <cstddef>

namespace banyan {

absl::StatusOr<ConfigReader> ConfigReader::Parse(absl::string_view text,
                                                 const std::string& file_name) {
  BANYAN_ASSIGN_OR_RETURN(JsonTree tree, JsonTree::Parse(text, file_name));
  const JsonAt root = tree.root();
  if (!root.is_object()) return root.Expected("an object");
  return ConfigReader(
      root, std::make_shared<const File>(File{std::move(tree), file_name}),
      std::make_shared<Told>());
}

const std::string& ConfigReader::file_name() const { return file_->name; }

bool ConfigReader::IsGiven(absl::string_view key) const {
  return object_.At(key).exists();
}

bool ConfigReader::Has(absl::string_view key) const {
  return !object_.At(key).is_null();
}

std::optional<JsonAt> ConfigReader::Find(absl::string_view key) const {
  if (told_->failed || !Has(key)) return std::nullopt;
  return object_.At(key);
}

void ConfigReader::Note(const absl::Status& status) {
  if (status.ok() || told_->failed) return;
  told_->failed = true;
  for (Told* told = told_.get(); told != nullptr; told = told->above.get())
    told->errors.Add(status);
}

void ConfigReader::Fail(absl::string_view key, absl::string_view message) {
  Note(object_.At(key).Error(message));
}

void ConfigReader::Unexpected(absl::string_view key, absl::string_view what) {
  Note(object_.At(key).Expected(what));
}

void ConfigReader::Missing(absl::string_view key, absl::string_view what) {
  if (!Has(key)) Unexpected(key, what);
}

std::optional<int> ConfigReader::Whole(absl::string_view key, int min,
                                       int max) {
  const std::optional<JsonAt> value = Find(key);
  if (!value.has_value()) return std::nullopt;
  const absl::StatusOr<std::int64_t> number = value->Int();
  if (number.ok() && *number >= min && *number <= max)
    return static_cast<int>(*number);
  if (!number.ok() || *number < min) {
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
  const std::optional<JsonAt> value = Find(key);
  if (!value.has_value()) return fallback;
  const double number = value->Number().value_or(0);
  if (number > 0) return number;
  Unexpected(key, "a positive number");
  return fallback;
}

bool ConfigReader::Flag(absl::string_view key, bool fallback) {
  const std::optional<JsonAt> value = Find(key);
  if (!value.has_value()) return fallback;
  const absl::StatusOr<bool> flag = value->Bool();
  Note(flag.status());
  return flag.value_or(fallback);
}

std::string ConfigReader::Text(absl::string_view key) {
  Missing(key, "a text");
  const std::string text = TextOr(key, "");
  if (text.empty()) Unexpected(key, "a text");
  return text;
}

std::string ConfigReader::TextOr(absl::string_view key,
                                 absl::string_view fallback) {
  const std::optional<JsonAt> value = Find(key);
  if (!value.has_value()) return std::string(fallback);
  const absl::StatusOr<std::string> text = value->String();
  Note(text.status());
  return text.ok() ? *text : std::string(fallback);
}

std::vector<std::string> ConfigReader::Texts(absl::string_view key) {
  const std::optional<JsonAt> value = Find(key);
  if (!value.has_value()) return {};
  std::vector<std::string> texts;
  bool holds = value->is_list();
  for (std::size_t i = 0; holds && i < value->size(); ++i) {
    const std::string* text = value->At(i).FindString();
    holds = text != nullptr;
    if (holds) texts.push_back(*text);
  }
  if (!holds) Unexpected(key, "a list of texts");
  return texts;
}

std::map<std::string, std::string> ConfigReader::TextMap(
    absl::string_view key) {
  const std::optional<JsonAt> value = Find(key);
  if (!value.has_value()) return {};
  std::map<std::string, std::string> texts;
  if (!value->is_object()) {
    Unexpected(key, "an object of texts");
    return texts;
  }
  Note(value->ForEachKey([&](const std::string& name, const JsonAt& text) {
    if (!text.is_string())
      return value->Error(absl::StrCat(
          QuotedName(name), ": expected a text, found ", text.Found()));
    texts.emplace(name, *text.FindString());
    return absl::OkStatus();
  }));
  return texts;
}

std::vector<TokenId> ConfigReader::Tokens(absl::string_view key,
                                          int vocab_size) {
  const std::optional<JsonAt> value = Find(key);
  if (!value.has_value()) return {};
  std::vector<TokenId> tokens;
  const std::size_t count = value->is_list() ? value->size() : 1;
  for (std::size_t i = 0; i < count; ++i) {
    const JsonAt item = value->is_list() ? value->At(i) : *value;
    const std::int64_t token = item.Int().value_or(-1);
    if (token < 0 || token >= vocab_size) {
      Fail(key, absl::StrCat("expected token ids below ", vocab_size,
                             ", found ", item.Found()));
      return {};
    }
    tokens.push_back(static_cast<TokenId>(token));
  }
  return tokens;
}

std::vector<int> ConfigReader::Indices(absl::string_view key, int end) {
  const std::optional<JsonAt> value = Find(key);
  if (!value.has_value()) return {};
  if (!value->is_list()) Unexpected(key, "a list of numbers");
  std::vector<int> indices;
  std::int64_t least = 0;
  for (std::size_t i = 0; value->is_list() && i < value->size(); ++i) {
    const std::int64_t index = value->At(i).Int().value_or(-1);
    if (index < least || index >= end) {
      Fail(key,
           absl::StrCat("expected ascending numbers below ", end, ", found ",
                        value->At(i).Found(), " at place ", i));
      return std::vector<int>(value->size());
    }
    least = index + 1;
    indices.push_back(static_cast<int>(index));
  }
  return indices;
}

ConfigReader ConfigReader::Section(absl::string_view key) {
  const std::optional<JsonAt> value = Find(key);
  if (value.has_value() && !value->is_object()) Unexpected(key, "an object");
  return ConfigReader(object_.At(key), file_, told_);
}

ConfigReader ConfigReader::Apart() const {
  auto told = std::make_shared<Told>();
  told->above = told_;
  return ConfigReader(object_, file_, std::move(told));
}

std::vector<std::string> ConfigReader::Flags() const {
  std::vector<std::string> flags;
  object_
      .ForEachKey([&flags](const std::string& key, const JsonAt& value) {
        if (value.Bool().ok()) flags.push_back(key);
        return absl::OkStatus();
      })
      .IgnoreError();  // what is no object has none
  return flags;
}

bool ConfigReader::HasObjects() const {
  bool has = false;
  object_
      .ForEachKey([&has](const std::string&, const JsonAt& value) {
        has = has || value.is_object();
        return absl::OkStatus();
      })
      .IgnoreError();  // what is no object has none
  return has;
}

}  // namespace banyan
