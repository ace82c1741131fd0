#include "core/tokenizer/tokenizer_config.h"

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "core/base/status_macros.h"
#include "core/json/json_at.h"

namespace banyan {
namespace {

// A text, or an added token with the text as its content.
absl::Status ReadToken(const JsonAt& json, std::optional<std::string>& out) {
  if (json.is_null()) return absl::OkStatus();
  const JsonAt text = json.is_object() ? json.At("content") : json;
  BANYAN_ASSIGN_OR_RETURN(out, text.String());
  return absl::OkStatus();
}

struct ClassRow {
  absl::string_view name;
  bool adds_bos;  // by default; none adds eos
};

constexpr ClassRow kClasses[] = {
    {"LlamaTokenizer", true},    {"CodeLlamaTokenizer", true},
    {"GemmaTokenizer", true},    {"CohereTokenizer", true},
    {"GPTNeoXTokenizer", false},
};

absl::StatusOr<std::optional<TokensAround>> ReadTokensAround(
    const JsonAt& json) {
  const JsonAt bos = json.At("add_bos_token");
  const JsonAt eos = json.At("add_eos_token");
  BANYAN_ASSIGN_OR_RETURN(const std::string class_name,
                          json.At("tokenizer_class").StringOr(""));
  for (const ClassRow& row : kClasses) {
    if (absl::StripSuffix(class_name, "Fast") != row.name) continue;
    TokensAround around;
    BANYAN_ASSIGN_OR_RETURN(around.bos, bos.BoolOr(row.adds_bos));
    BANYAN_ASSIGN_OR_RETURN(around.eos, eos.BoolOr(false));
    if (!bos.is_null() || !eos.is_null()) return around;
  }
  return std::nullopt;
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
  BANYAN_ASSIGN_OR_RETURN(const JsonTree tree, JsonTree::Parse(text, file));
  const JsonAt json = tree.root();
  if (!json.is_object()) return json.Expected("an object");
  TokenizerConfig config;
  config.file = file;
  BANYAN_RETURN_IF_ERROR(ReadToken(json.At("bos_token"), config.bos_token));
  BANYAN_RETURN_IF_ERROR(ReadToken(json.At("eos_token"), config.eos_token));
  BANYAN_RETURN_IF_ERROR(ReadToken(json.At("unk_token"), config.unk_token));
  BANYAN_RETURN_IF_ERROR(ReadToken(json.At("pad_token"), config.pad_token));
  BANYAN_ASSIGN_OR_RETURN(config.around, ReadTokensAround(json));
  BANYAN_ASSIGN_OR_RETURN(config.chat_template,
                          ReadChatTemplate(json.At("chat_template")));
  return config;
}

}  // namespace banyan
