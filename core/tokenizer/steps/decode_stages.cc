#include "core/tokenizer/steps/decode_stages.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/tokenizer/patterns/unicode.h"
#include "core/tokenizer/steps/byte_level.h"
#include "core/tokenizer/steps/decoder.h"
#include "core/tokenizer/steps/metaspace.h"
#include "core/tokenizer/steps/normalizer.h"

namespace banyan {
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
