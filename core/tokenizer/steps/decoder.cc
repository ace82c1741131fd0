#include "core/tokenizer/steps/decoder.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/status_macros.h"
#include "core/json/json_at.h"
#include "core/tokenizer/patterns/unicode.h"
#include "core/tokenizer/steps/byte_level.h"
#include "core/tokenizer/steps/decode_stages.h"
#include "core/tokenizer/steps/metaspace.h"
#include "core/tokenizer/steps/normalizer.h"

namespace banyan {
namespace {

// Real files have four.
constexpr std::size_t kMaxStages = 16;

}  // namespace

void DecodeStage::Finish(std::vector<Fragment>&) {}

absl::StatusOr<TextDecoder> TextDecoder::FromJson(const JsonAt& json) {
  TextDecoder result;
  if (json.is_null()) {
    result.stages_.push_back(
        {MakeJoinStage, [](std::string token, bool at_start) {
           return at_start ? token : absl::StrCat(" ", token);
         }});
  } else {
    BANYAN_RETURN_IF_ERROR(result.Add(json));
  }
  return result;
}

absl::Status TextDecoder::Add(const JsonAt& json) {
  if (stages_.size() >= kMaxStages)
    return json.Error(
        absl::StrCat("expected at most ", kMaxStages, " decoders"));
  BANYAN_ASSIGN_OR_RETURN(const std::string type, json.At("type").String());
  if (type == "Replace") return AddReplace(json);
  if (type == "Strip") return AddStrip(json);
  if (type == "Metaspace") return AddMetaspace(json);
  if (type != "Sequence") return AddPlain(type, json);
  BANYAN_RETURN_IF_ERROR(json.HasOnly({"type", "decoders"}));
  BANYAN_ASSIGN_OR_RETURN(const std::vector<JsonAt> items,
                          json.At("decoders").Items());
  for (const JsonAt& item : items) BANYAN_RETURN_IF_ERROR(Add(item));
  return absl::OkStatus();
}

absl::Status TextDecoder::AddReplace(const JsonAt& json) {
  BANYAN_ASSIGN_OR_RETURN(const Replacement replacement,
                          ReadReplacement(json, growth_));
  if (is_fused_ &&
      WholeCharacter(replacement.pattern) != replacement.pattern.size())
    return json.At("pattern").Expected(
        "one character after a decoder that fuses the tokens");
  stages_.push_back({[replacement]() { return MakeReplaceStage(replacement); },
                     [replacement](const std::string& token, bool) {
                       return ReplaceAll(token, replacement.pattern,
                                         replacement.content);
                     }});
  return absl::OkStatus();
}

absl::Status TextDecoder::AddStrip(const JsonAt& json) {
  BANYAN_RETURN_IF_ERROR(json.HasOnly({"type", "content", "start", "stop"}));
  BANYAN_ASSIGN_OR_RETURN(const std::string content,
                          json.At("content").Character());
  BANYAN_ASSIGN_OR_RETURN(const std::int64_t start, json.At("start").Int());
  BANYAN_ASSIGN_OR_RETURN(const std::int64_t stop, json.At("stop").Int());
  if (start < 0) return json.At("start").Expected("0 or more");
  if (stop != 0) return json.At("stop").Expected("0");
  stages_.push_back(
      {[content, start]() { return MakeStripStage(content, start); },
       // Of one token that was made of all, the first alone begins it.
       [content, start, only_first = is_fused_](const std::string& token,
                                                bool at_start) {
         absl::string_view rest = token;
         for (std::int64_t left = only_first && !at_start ? 0 : start;
              left > 0 && absl::StartsWith(rest, content); --left)
           rest.remove_prefix(content.size());
         return std::string(rest);
       }});
  return absl::OkStatus();
}

absl::Status TextDecoder::AddMetaspace(const JsonAt& json) {
  BANYAN_ASSIGN_OR_RETURN(const Metaspace metaspace, ReadMetaspace(json));
  stages_.push_back(
      {[metaspace]() { return MakeMetaspaceStage(metaspace); },
       [metaspace](const std::string& token, bool at_start) {
         const bool removes =
             at_start && metaspace.prepend != Metaspace::Prepend::kNever;
         return ReplaceAll(token, metaspace.replacement, removes ? "" : " ");
       }});
  return absl::OkStatus();
}

absl::Status TextDecoder::AddPlain(const std::string& type,
                                   const JsonAt& json) {
  if (type == "ByteLevel") {
    BANYAN_RETURN_IF_ERROR(json.HasOnly(
        {"type", "add_prefix_space", "trim_offsets", "use_regex"}));
    stages_.push_back({MakeByteLevelStage, [](const std::string& token, bool) {
                         const bool is_text =
                             FindInvalidUtf8(token) == absl::string_view::npos;
                         return is_text ? CharactersToBytes(token) : token;
                       }});
  } else if (type == "ByteFallback") {
    BANYAN_RETURN_IF_ERROR(json.HasOnly({"type"}));
    stages_.push_back(
        {MakeByteFallbackStage, [](const std::string& token, bool) {
           const std::optional<char> byte = ByteOfToken(token);
           return byte.has_value() ? std::string(1, *byte) : token;
         }});
  } else if (type == "Fuse") {
    BANYAN_RETURN_IF_ERROR(json.HasOnly({"type"}));
    stages_.push_back(
        {MakeFuseStage, [](std::string token, bool) { return token; }});
  } else {
    return json.At("type").Expected(
        "Sequence, ByteLevel, Replace, ByteFallback, Fuse, Strip or "
        "Metaspace");
  }
  if (is_fused_ && type != "Fuse")
    return json.Error(absl::StrCat(
        type, " works on tokens, which a decoder before it has fused"));
  is_fused_ = is_fused_ || type != "ByteFallback";
  return absl::OkStatus();
}

std::vector<std::unique_ptr<DecodeStage>> TextDecoder::MakeStages() const {
  std::vector<std::unique_ptr<DecodeStage>> stages;
  stages.reserve(stages_.size());
  for (const Stage& stage : stages_) stages.push_back(stage.make());
  return stages;
}

std::string TextDecoder::BytesOf(absl::string_view token, bool at_start) const {
  std::string bytes(token);
  for (const Stage& stage : stages_)
    bytes = stage.spell(std::move(bytes), at_start);
  return bytes;
}

}  // namespace banyan
