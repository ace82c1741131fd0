#include "core/tokenizer/decoder.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/json/json_at.h"
#include "core/tokenizer/decode_stages.h"
#include "core/tokenizer/metaspace.h"
#include "core/tokenizer/normalizer.h"
#include "core/tokenizer/unicode.h"

namespace banyan {
namespace {

// Real files have four.
constexpr std::size_t kMaxStages = 16;

}  // namespace

void DecodeStage::Finish(std::vector<Fragment>&) {}

absl::StatusOr<TextDecoder> TextDecoder::FromJson(const JsonAt& json) {
  TextDecoder result;
  if (json.is_null()) {
    result.makers_.emplace_back(MakeJoinStage);
  } else {
    BANYAN_RETURN_IF_ERROR(result.Add(json));
  }
  return result;
}

absl::Status TextDecoder::Add(const JsonAt& json) {
  if (makers_.size() >= kMaxStages)
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
  BANYAN_ASSIGN_OR_RETURN(Replacement replacement,
                          ReadReplacement(json, growth_));
  if (is_fused_ &&
      WholeCharacter(replacement.pattern) != replacement.pattern.size())
    return json.At("pattern").Expected(
        "one character after a decoder that fuses the tokens");
  makers_.emplace_back([replacement = std::move(replacement)]() {
    return MakeReplaceStage(replacement);
  });
  return absl::OkStatus();
}

absl::Status TextDecoder::AddStrip(const JsonAt& json) {
  BANYAN_RETURN_IF_ERROR(json.HasOnly({"type", "content", "start", "stop"}));
  BANYAN_ASSIGN_OR_RETURN(std::string content, json.At("content").Character());
  BANYAN_ASSIGN_OR_RETURN(const std::int64_t start, json.At("start").Int());
  BANYAN_ASSIGN_OR_RETURN(const std::int64_t stop, json.At("stop").Int());
  if (start < 0) return json.At("start").Expected("0 or more");
  if (stop != 0) return json.At("stop").Expected("0");
  makers_.emplace_back([content = std::move(content), start]() {
    return MakeStripStage(content, start);
  });
  return absl::OkStatus();
}

absl::Status TextDecoder::AddMetaspace(const JsonAt& json) {
  BANYAN_ASSIGN_OR_RETURN(Metaspace metaspace, ReadMetaspace(json));
  makers_.emplace_back([metaspace = std::move(metaspace)]() {
    return MakeMetaspaceStage(metaspace);
  });
  return absl::OkStatus();
}

absl::Status TextDecoder::AddPlain(const std::string& type,
                                   const JsonAt& json) {
  if (type == "ByteLevel") {
    BANYAN_RETURN_IF_ERROR(json.HasOnly(
        {"type", "add_prefix_space", "trim_offsets", "use_regex"}));
    makers_.emplace_back(MakeByteLevelStage);
  } else if (type == "ByteFallback") {
    BANYAN_RETURN_IF_ERROR(json.HasOnly({"type"}));
    makers_.emplace_back(MakeByteFallbackStage);
  } else if (type == "Fuse") {
    BANYAN_RETURN_IF_ERROR(json.HasOnly({"type"}));
    makers_.emplace_back(MakeFuseStage);
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
  stages.reserve(makers_.size());
  for (const Maker& make : makers_) stages.push_back(make());
  return stages;
}

}  // namespace banyan
