#include "core/tokenizer/steps/decoder.h"

#include <cstddef>
#include <utility>

#include "core/tokenizer/patterns/unicode.h"

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

namespace {

class JoinStage : public DecodeStage {
 public:
  void Push(Fragment fragment, std::vector<Fragment>& out) override {
    if (fragment.begins_token && !is_first_)
      fragment.text = absl::StrCat(" ", fragment.text);
    is_first_ = false;
    out.push_back(std::move(fragment));
  }

 private:
  bool is_first_ = true;
};

class FuseStage : public DecodeStage {
 public:
  void Push(Fragment fragment, std::vector<Fragment>& out) override {
    fragment.begins_token = is_first_;
    is_first_ = false;
    out.push_back(std::move(fragment));
  }

 private:
  bool is_first_ = true;
};

class ByteLevelStage : public DecodeStage {
 public:
  void Push(Fragment fragment, std::vector<Fragment>& out) override {
    bytes_ += CharactersToBytes(fragment.text);
    Give(false, out);
  }

  void Finish(std::vector<Fragment>& out) override { Give(true, out); }

 private:
  void Give(bool all, std::vector<Fragment>& out) {
    std::string text = TakeCharacters(bytes_, all);
    if (text.empty()) return;
    out.push_back({std::move(text), is_first_});
    is_first_ = false;
  }

  std::string bytes_;  // not given yet
  bool is_first_ = true;
};

std::optional<int> HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return std::nullopt;
}

class ByteFallbackStage : public DecodeStage {
 public:
  void Push(Fragment fragment, std::vector<Fragment>& out) override {
    const std::optional<char> byte = ByteOfToken(fragment.text);
    if (byte.has_value()) {
      run_.push_back(*byte);
      return;
    }
    Finish(out);
    out.push_back(std::move(fragment));
  }

  void Finish(std::vector<Fragment>& out) override {
    if (run_.empty()) return;
    if (FindInvalidUtf8(run_) == absl::string_view::npos) {
      out.push_back({run_});
    } else {
      for (std::size_t i = 0; i < run_.size(); ++i)
        out.push_back({kReplacementCharacter});
    }
    run_.clear();
  }

 private:
  std::string run_;
};

class ReplaceStage : public DecodeStage {
 public:
  explicit ReplaceStage(Replacement replacement)
      : replacement_(std::move(replacement)) {}

  void Push(Fragment fragment, std::vector<Fragment>& out) override {
    fragment.text =
        ReplaceAll(fragment.text, replacement_.pattern, replacement_.content);
    out.push_back(std::move(fragment));
  }

 private:
  Replacement replacement_;
};

class StripStage : public DecodeStage {
 public:
  StripStage(std::string content, std::int64_t count)
      : content_(std::move(content)), count_(count) {}

  void Push(Fragment fragment, std::vector<Fragment>& out) override {
    if (fragment.begins_token) left_ = count_;
    absl::string_view rest = fragment.text;
    while (left_ > 0 && absl::StartsWith(rest, content_)) {
      rest.remove_prefix(content_.size());
      --left_;
    }
    if (!rest.empty()) left_ = 0;
    out.push_back({std::string(rest), fragment.begins_token});
  }

 private:
  std::string content_;
  std::int64_t count_;
  std::int64_t left_ = 0;  // to take away from this token
};

class MetaspaceStage : public DecodeStage {
 public:
  explicit MetaspaceStage(Metaspace metaspace)
      : metaspace_(std::move(metaspace)) {}

  void Push(Fragment fragment, std::vector<Fragment>& out) override {
    if (fragment.begins_token) ++tokens_;
    const bool removes =
        tokens_ == 1 && metaspace_.prepend != Metaspace::Prepend::kNever;
    fragment.text =
        ReplaceAll(fragment.text, metaspace_.replacement, removes ? "" : " ");
    out.push_back(std::move(fragment));
  }

 private:
  Metaspace metaspace_;
  std::int64_t tokens_ = 0;
};

}  // namespace

std::optional<char> ByteOfToken(absl::string_view token) {
  constexpr std::size_t kSize = 6;  // of <0xHH>
  if (token.size() != kSize || !absl::StartsWith(token, "<0x") ||
      token.back() != '>')
    return std::nullopt;
  const std::optional<int> high = HexDigit(token[3]);
  const std::optional<int> low = HexDigit(token[4]);
  if (!high.has_value() || !low.has_value()) return std::nullopt;
  return static_cast<char>(16 * *high + *low);
}

std::unique_ptr<DecodeStage> MakeJoinStage() {
  return std::make_unique<JoinStage>();
}

std::unique_ptr<DecodeStage> MakeFuseStage() {
  return std::make_unique<FuseStage>();
}

std::unique_ptr<DecodeStage> MakeByteLevelStage() {
  return std::make_unique<ByteLevelStage>();
}

std::unique_ptr<DecodeStage> MakeByteFallbackStage() {
  return std::make_unique<ByteFallbackStage>();
}

std::unique_ptr<DecodeStage> MakeReplaceStage(Replacement replacement) {
  return std::make_unique<ReplaceStage>(std::move(replacement));
}

std::unique_ptr<DecodeStage> MakeStripStage(std::string content,
                                            std::int64_t count) {
  return std::make_unique<StripStage>(std::move(content), count);
}

std::unique_ptr<DecodeStage> MakeMetaspaceStage(Metaspace metaspace) {
  return std::make_unique<MetaspaceStage>(std::move(metaspace));
}

}  // namespace banyan
