#include "core/tokenizer/tokenizer_config.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/status_macros.h"
#include "core/tokenizer/json_at.h"

namespace banyan {
namespace {

// A text, or an added token with the text as its content.
absl::Status ReadToken(const JsonAt& json, std::optional<std::string>& out) {
  if (json.is_null()) return absl::OkStatus();
  const JsonAt text = json.is_object() ? json.At("content") : json;
  BANYAN_ASSIGN_OR_RETURN(out, text.String());
  return absl::OkStatus();
}

absl::Status ReadFlag(const JsonAt& json, std::optional<bool>& out) {
  if (json.is_null()) return absl::OkStatus();
  BANYAN_ASSIGN_OR_RETURN(out, json.Bool());
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadChatTemplate(const JsonAt& json) {
  if (json.is_null() || json.is_string()) return json.StringOr("");
  BANYAN_ASSIGN_OR_RETURN(const std::vector<JsonAt> items, json.Items());
  for (const JsonAt& item : items) {
    BANYAN_ASSIGN_OR_RETURN(const std::string name, item.At("name").String());
    if (name == "default") return item.At("template").String();
  }
  return std::string();
}

}  // namespace

absl::StatusOr<TokenizerConfig> ParseTokenizerConfig(absl::string_view text,
                                                     const std::string& file) {
  BANYAN_ASSIGN_OR_RETURN(const nlohmann::json root, ParseJson(text, file));
  const JsonAt json(root, file);
  if (!json.is_object()) return json.Expected("an object");
  TokenizerConfig config;
  config.file = file;
  BANYAN_RETURN_IF_ERROR(ReadToken(json.At("bos_token"), config.bos_token));
  BANYAN_RETURN_IF_ERROR(ReadToken(json.At("eos_token"), config.eos_token));
  BANYAN_RETURN_IF_ERROR(
      ReadFlag(json.At("add_bos_token"), config.add_bos_token));
  BANYAN_RETURN_IF_ERROR(
      ReadFlag(json.At("add_eos_token"), config.add_eos_token));
  BANYAN_ASSIGN_OR_RETURN(config.chat_template,
                          ReadChatTemplate(json.At("chat_template")));
  return config;
}

}  // namespace banyan
