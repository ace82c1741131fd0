#include "core/tokenizer/steps/post_processor.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/base/token.h"
#include "core/json/json_at.h"
#include "core/tokenizer/steps/bpe.h"

namespace banyan {
namespace {

// Published templates have one or two tokens around a text. Without a bound
// each of many items could be any of many tokens, and each of these many ids.
constexpr std::size_t kMaxAround = 256;

absl::Status CheckAround(const PostProcessor& around, const JsonAt& json) {
  const std::size_t tokens = around.before.size() + around.after.size();
  if (tokens <= kMaxAround) return absl::OkStatus();
  return json.Error(absl::StrCat("expected at most ", kMaxAround,
                                 " tokens around a text, found ", tokens));
}

// The ids that the template's special token `item` stands for.
absl::Status AppendSpecial(const JsonAt& item, const JsonAt& special_tokens,
                           std::vector<TokenId>& out) {
  BANYAN_RETURN_IF_ERROR(item.HasOnly({"id", "type_id"}));
  BANYAN_ASSIGN_OR_RETURN(const std::string name, item.At("id").String());
  const JsonAt special = special_tokens.At(name);
  if (special.is_null()) return item.At("id").Expected("one of special_tokens");
  BANYAN_RETURN_IF_ERROR(special.HasOnly({"id", "ids", "tokens"}));
  BANYAN_ASSIGN_OR_RETURN(const std::vector<JsonAt> ids,
                          special.At("ids").Items());
  for (const JsonAt& each : ids) {
    BANYAN_ASSIGN_OR_RETURN(const std::int64_t id, each.Int());
    if (id < 0 || id >= kMaxTokenIds)
      return each.Expected(
          absl::StrCat("a token id in [0, ", kMaxTokenIds, ")"));
    out.push_back(static_cast<TokenId>(id));
  }
  return absl::OkStatus();
}

absl::StatusOr<PostProcessor> ReadTemplate(const JsonAt& json) {
  BANYAN_RETURN_IF_ERROR(
      json.HasOnly({"type", "single", "pair", "special_tokens"}));
  PostProcessor result;
  bool has_text = false;
  const JsonAt single = json.At("single");
  BANYAN_ASSIGN_OR_RETURN(const std::vector<JsonAt> items, single.Items());
  if (items.size() > kMaxAround + 1)
    return single.Error(absl::StrCat("expected at most ", kMaxAround + 1,
                                     " items, found ", items.size()));
  for (const JsonAt& item : items) {
    BANYAN_RETURN_IF_ERROR(item.HasOnly({"SpecialToken", "Sequence"}));
    if (!item.At("SpecialToken").is_null()) {
      BANYAN_RETURN_IF_ERROR(
          AppendSpecial(item.At("SpecialToken"), json.At("special_tokens"),
                        has_text ? result.after : result.before));
      BANYAN_RETURN_IF_ERROR(CheckAround(result, single));
      continue;
    }
    const JsonAt sequence = item.At("Sequence");
    BANYAN_RETURN_IF_ERROR(sequence.HasOnly({"id", "type_id"}));
    BANYAN_ASSIGN_OR_RETURN(const std::string name, sequence.At("id").String());
    if (name != "A" || has_text)
      return sequence.At("id").Expected("A, the text, once");
    has_text = true;
  }
  if (!has_text) return single.Error("lacks the sequence A");
  return result;
}

}  // namespace

absl::StatusOr<PostProcessor> ReadPostProcessor(const JsonAt& json) {
  if (json.is_null()) return PostProcessor();
  BANYAN_ASSIGN_OR_RETURN(const std::string type, json.At("type").String());
  if (type == "ByteLevel") {
    BANYAN_RETURN_IF_ERROR(json.HasOnly(
        {"type", "add_prefix_space", "trim_offsets", "use_regex"}));
    return PostProcessor();
  }
  if (type == "TemplateProcessing") return ReadTemplate(json);
  if (type != "Sequence")
    return json.At("type").Expected(
        "Sequence, ByteLevel or TemplateProcessing");
  BANYAN_RETURN_IF_ERROR(json.HasOnly({"type", "processors"}));
  BANYAN_ASSIGN_OR_RETURN(const std::vector<JsonAt> items,
                          json.At("processors").Items());
  PostProcessor result;  // each goes around what the one before it made
  for (const JsonAt& item : items) {
    BANYAN_ASSIGN_OR_RETURN(PostProcessor outer, ReadPostProcessor(item));
    outer.before.insert(outer.before.end(), result.before.begin(),
                        result.before.end());
    result.after.insert(result.after.end(), outer.after.begin(),
                        outer.after.end());
    result.before = std::move(outer.before);
    BANYAN_RETURN_IF_ERROR(CheckAround(result, item));
  }
  return result;
}

}  // namespace banyan
