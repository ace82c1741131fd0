#include "drafters/small_models/own_reader.h"

#include <algorithm>
#include <optional>

#include "core/tokenizer/patterns/unicode.h"
#include "core/tokenizer/tokenizer.h"

namespace banyan {

OwnText::OwnText(std::shared_ptr<const VocabularyMap> map)
    : map_(std::move(map)), text_(map_->drafter()) {}

// What the tokenizer puts before a prompt, unless the text brings it along.
absl::Status OwnText::StartPrompt(absl::Span<const TokenId> committed) {
  BANYAN_ASSIGN_OR_RETURN(const std::vector<TokenId> before,
                          map_->drafter().tokenizer().EncodePrompt({}));
  if (!before.empty() && map_->DrafterOf(committed.front()) == before.front())
    return absl::OkStatus();
  for (TokenId token : before) text_.End(token);
  return absl::OkStatus();
}

absl::Status OwnText::Follow(absl::Span<const TokenId> committed) {
  if (taken_ == 0 && !committed.empty())
    BANYAN_RETURN_IF_ERROR(StartPrompt(committed));
  std::string more;
  for (; taken_ < committed.size(); ++taken_) {
    const TokenId token = committed[taken_];
    const std::string& bytes = map_->target().BytesOf(token);
    if (bytes.empty()) {
      BANYAN_RETURN_IF_ERROR(text_.Append(more));
      more.clear();
      text_.End(map_->DrafterOf(token));
      at_start_ = true;
      cut_.clear();
      cut_bytes_.clear();
      continue;
    }
    cut_.push_back(token);
    if (at_start_) {
      BANYAN_ASSIGN_OR_RETURN(
          cut_bytes_, map_->target().tokenizer().TokenBytes(token, true));
    } else {
      cut_bytes_ += bytes;
    }
    at_start_ = false;
    std::string rest = cut_bytes_;
    const std::string whole = TakeCharacters(rest, false);
    if (!rest.empty()) continue;
    more += whole;
    cut_.clear();
    cut_bytes_.clear();
  }
  return text_.Append(more);
}

absl::Status OwnReader::Begin(absl::Span<const TokenId> committed) {
  text_ = OwnText(map_);
  BANYAN_RETURN_IF_ERROR(Translate(committed));
  return Reread();
}

absl::Status OwnReader::Follow(absl::Span<const TokenId> committed) {
  BANYAN_RETURN_IF_ERROR(Translate(committed));
  const auto kept = static_cast<std::ptrdiff_t>(read_.size());
  if (read_.size() > static_cast<std::size_t>(settled_) ||
      !std::equal(read_.begin(), read_.end(), tokens_.begin(),
                  tokens_.begin() + kept))
    return Reread();
  if (session_->pending() == 0) pending_.Clear();  // of an abandoned round
  const absl::Span<const TokenId> settled = Unread(settled_);
  const std::vector<int> path = pending_.PathOf(settled);
  pending_.Clear();
  read_.insert(read_.end(), settled.begin(),
               settled.begin() + static_cast<std::ptrdiff_t>(path.size()));
  return session_->Commit(path);
}

absl::Status OwnReader::Translate(absl::Span<const TokenId> committed) {
  BANYAN_RETURN_IF_ERROR(text_.Follow(committed));
  tokens_ = text_.text().tokens();
  is_whole_ = true;
  for (TokenId token : text_.cut()) {
    const std::optional<TokenId> own = map_->DrafterOf(token);
    is_whole_ = is_whole_ && own.has_value();
    if (is_whole_) tokens_.push_back(*own);
  }
  settled_ = std::max(0, std::min(text_.text().settled(),
                                  static_cast<int>(tokens_.size()) - 1));
  return absl::OkStatus();
}

absl::Status OwnReader::Reread() {
  session_ = model_->NewSession();
  read_.clear();
  pending_.Clear();
  return Fits(0) ? ReadSettled() : absl::OkStatus();
}

absl::Status OwnReader::ReadSettled() {
  const absl::Span<const TokenId> settled = Unread(settled_);
  BANYAN_RETURN_IF_ERROR(session_->Prefill(settled));
  read_.insert(read_.end(), settled.begin(), settled.end());
  return absl::OkStatus();
}

bool OwnReader::Fits(int behind) const {
  return is_whole_ && !tokens_.empty() &&
         static_cast<int>(tokens_.size()) + behind <= model_->context_limit();
}

absl::Span<const TokenId> OwnReader::Unread(int until) const {
  return absl::MakeConstSpan(tokens_)
      .first(static_cast<std::size_t>(until))
      .subspan(read_.size());
}

absl::StatusOr<TokenBatch> OwnReader::StartRound() {
  BANYAN_RETURN_IF_ERROR(session_->Commit({}));
  pending_.Clear();
  if (Unread(settled_).size() > kReadWithRoot)
    BANYAN_RETURN_IF_ERROR(ReadSettled());
  return TokenBatch::Chain(Unread(static_cast<int>(tokens_.size())),
                           static_cast<int>(read_.size()));
}

}  // namespace banyan
