#include "core/tokenizer/steps/normalizer.h"

#include <algorithm>
#include <utility>

#include "core/tokenizer/patterns/unicode.h"

namespace banyan {
namespace {

// A space becomes three bytes; two such steps are nine. Beyond this a small
// file could ask for any amount of memory.
constexpr double kMaxGrowth = 64;
// Real files have two. Each step may add a prefix.
constexpr std::size_t kMostNormalizerSteps = 16;

std::optional<NormalForm> FindForm(absl::string_view type) {
  if (type == "NFC") return NormalForm::kNfc;
  if (type == "NFD") return NormalForm::kNfd;
  if (type == "NFKC") return NormalForm::kNfkc;
  if (type == "NFKD") return NormalForm::kNfkd;
  return std::nullopt;
}

absl::string_view Strip(absl::string_view text, bool left, bool right) {
  while (left && !text.empty() && IsSpace(CodePointAt(text, 0).value))
    text.remove_prefix(CodePointAt(text, 0).bytes);
  while (right && !text.empty() &&
         IsSpace(CodePointBefore(text, text.size()).value))
    text.remove_suffix(CodePointBefore(text, text.size()).bytes);
  return text;
}

}  // namespace

absl::StatusOr<Replacement> ReadReplacement(const JsonAt& json,
                                            double& growth) {
  BANYAN_RETURN_IF_ERROR(json.HasOnly({"type", "pattern", "content"}));
  const JsonAt pattern = json.At("pattern");
  if (!pattern.At("Regex").is_null())
    return pattern.Error(
        "expected a text to replace, {\"String\": ...}, found a regular "
        "expression");
  BANYAN_RETURN_IF_ERROR(pattern.HasOnly({"String"}));
  Replacement result;
  BANYAN_ASSIGN_OR_RETURN(result.pattern, pattern.At("String").String());
  BANYAN_ASSIGN_OR_RETURN(result.content, json.At("content").String());
  if (result.pattern.empty())
    return pattern.At("String").Expected("a text that is not empty");
  growth *= std::max(1.0, static_cast<double>(result.content.size()) /
                              static_cast<double>(result.pattern.size()));
  if (growth > kMaxGrowth)
    return json.Error(absl::StrCat("makes a text ", growth,
                                   " times as long; expected at most ",
                                   kMaxGrowth, " times"));
  return result;
}

absl::StatusOr<Normalizer> Normalizer::FromJson(const JsonAt& json) {
  Normalizer result;
  if (!json.is_null()) BANYAN_RETURN_IF_ERROR(result.Add(json));
  return result;
}

absl::Status Normalizer::Add(const JsonAt& json) {
  if (steps_.size() >= kMostNormalizerSteps)
    return json.Error(absl::StrCat("expected at most ", kMostNormalizerSteps,
                                   " normalizers"));
  BANYAN_ASSIGN_OR_RETURN(const std::string type, json.At("type").String());
  if (type == "Sequence") {
    BANYAN_RETURN_IF_ERROR(json.HasOnly({"type", "normalizers"}));
    BANYAN_ASSIGN_OR_RETURN(const std::vector<JsonAt> items,
                            json.At("normalizers").Items());
    for (const JsonAt& item : items) BANYAN_RETURN_IF_ERROR(Add(item));
    return absl::OkStatus();
  }
  if (type == "Replace") return AddReplace(json);
  if (type == "Prepend") {
    BANYAN_RETURN_IF_ERROR(json.HasOnly({"type", "prepend"}));
    BANYAN_ASSIGN_OR_RETURN(std::string prefix, json.At("prepend").String());
    steps_.push_back([prefix = std::move(prefix)](absl::string_view text) {
      return absl::StrCat(prefix, text);
    });
    return absl::OkStatus();
  }
  if (type == "Strip") {
    BANYAN_RETURN_IF_ERROR(json.HasOnly({"type", "strip_left", "strip_right"}));
    BANYAN_ASSIGN_OR_RETURN(const bool left, json.At("strip_left").Bool());
    BANYAN_ASSIGN_OR_RETURN(const bool right, json.At("strip_right").Bool());
    steps_.push_back([left, right](absl::string_view text) {
      return std::string(Strip(text, left, right));
    });
    return absl::OkStatus();
  }
  const std::optional<NormalForm> form = FindForm(type);
  if (!form.has_value())
    return json.At("type").Expected(
        "Sequence, Prepend, Replace, NFC, NFD, NFKC, NFKD or Strip");
  BANYAN_RETURN_IF_ERROR(json.HasOnly({"type"}));
  steps_.push_back([form](absl::string_view text) {
    return banyan::Normalize(*form, text);
  });
  return absl::OkStatus();
}

absl::Status Normalizer::AddReplace(const JsonAt& json) {
  BANYAN_ASSIGN_OR_RETURN(Replacement replacement,
                          ReadReplacement(json, growth_));
  steps_.push_back(
      [replacement = std::move(replacement)](absl::string_view text) {
        return ReplaceAll(text, replacement.pattern, replacement.content);
      });
  return absl::OkStatus();
}

absl::StatusOr<std::string> Normalizer::Normalize(
    absl::string_view text) const {
  std::string result(text);
  for (const Step& step : steps_) {
    if (result.empty()) break;
    BANYAN_ASSIGN_OR_RETURN(result, step(result));
  }
  return result;
}

}  // namespace banyan
