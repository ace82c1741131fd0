#include "experiments/report/page/token_texts.h"

#include <utility>

#include "core/base/common.h"
#include "core/base/token.h"

namespace banyan {
namespace {

// How sentencepiece writes a space. Decoding drops it from a text's first
// token.
constexpr absl::string_view kSpace = "\xe2\x96\x81";

std::string IdText(std::uint32_t id) { return absl::StrCat("<", id, ">"); }

std::string Text(const Tokenizer& tokenizer, std::uint32_t id) {
  const auto token = static_cast<TokenId>(id);
  const absl::StatusOr<absl::string_view> written = tokenizer.TokenText(token);
  if (!written.ok()) return IdText(id);
  absl::StatusOr<std::string> text = tokenizer.Decode({token});
  if (!text.ok()) return IdText(id);
  if (absl::StartsWith(*written, kSpace) && !absl::StartsWith(*text, " "))
    return absl::StrCat(" ", *text);
  return *std::move(text);
}

}  // namespace

std::function<std::string(std::uint32_t)> TokenTexts::Of(
    const std::string& directory) {
  const Tokenizer* const tokenizer = Find(directory);
  if (tokenizer == nullptr) return IdText;
  return [tokenizer](std::uint32_t id) { return Text(*tokenizer, id); };
}

std::string TokenTexts::Together(const std::string& directory,
                                 absl::Span<const std::uint32_t> ids) {
  if (const Tokenizer* const tokenizer = Find(directory)) {
    const std::vector<TokenId> tokens(ids.begin(), ids.end());
    absl::StatusOr<std::string> text =
        tokenizer->Decode(tokens, /*skip_special=*/true);
    if (text.ok()) return *std::move(text);
  }
  std::string text;
  for (const std::uint32_t id : ids) text += IdText(id);
  return text;
}

const Tokenizer* TokenTexts::Find(const std::string& directory) {
  const auto [entry, is_new] = tokenizers_.try_emplace(directory);
  if (is_new && !directory.empty()) {
    absl::StatusOr<std::unique_ptr<Tokenizer>> tokenizer =
        Tokenizer::Load(directory);
    if (tokenizer.ok()) entry->second = *std::move(tokenizer);
  }
  return entry->second.get();
}

}  // namespace banyan
