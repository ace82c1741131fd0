#include "core/tokenizer/growing_text.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/tokenizer/patterns/unicode.h"
#include "core/tokenizer/tokenizer.h"

namespace banyan {
namespace {

// Two readings that share this many settled tokens are taken to agree from
// there on: both begin anew at the first end of a word among these tokens, and
// words of kSure tokens are rare.
constexpr int kSure = 8;

int CommonPrefix(absl::Span<const TokenId> a, absl::Span<const TokenId> b) {
  const auto [end, other] =
      std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  return static_cast<int>(end - a.begin());
}

std::size_t CommonSuffix(absl::Span<const TokenId> a,
                         absl::Span<const TokenId> b) {
  const auto [end, other] =
      std::mismatch(a.rbegin(), a.rend(), b.rbegin(), b.rend());
  return static_cast<std::size_t>(end - a.rbegin());
}

bool BeginsCharacter(absl::string_view text, std::size_t at) {
  return at >= text.size() ||
         (static_cast<unsigned char>(text[at]) & 0xC0) != 0x80;
}

}  // namespace

// The window's tokens, less those that are not the text's.
absl::StatusOr<std::vector<TokenId>> GrowingText::Encode(
    absl::string_view text) const {
  BANYAN_ASSIGN_OR_RETURN(
      std::vector<TokenId> ids,
      spellings_->tokenizer().Encode(
          text, {.add_special = false, .parse_special = false}));
  const std::size_t drops =
      std::min(ids.size(), static_cast<std::size_t>(dropped_));
  ids.erase(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(drops));
  return ids;
}

std::string GrowingText::Writable(absl::string_view text) const {
  std::string kept;
  for (std::size_t at = 0; at < text.size();) {
    const absl::string_view one = text.substr(at, CodePointAt(text, at).bytes);
    if (Encode(one).ok()) absl::StrAppend(&kept, one);
    at += one.size();
  }
  return kept;
}

absl::Status GrowingText::Append(absl::string_view more) {
  if (more.empty()) return absl::OkStatus();
  const std::size_t before = window_.size();
  absl::StrAppend(&window_, more);
  absl::StatusOr<std::vector<TokenId>> ids = Encode(window_);
  if (!ids.ok()) {
    window_ = absl::StrCat(window_.substr(0, before), Writable(more));
    ids = Encode(window_);
  }
  if (!ids.ok()) {
    window_.resize(before);
    return ids.status();
  }
  const absl::Span<const TokenId> old =
      absl::MakeConstSpan(tokens_).subspan(static_cast<std::size_t>(first_));
  const int same = first_ + CommonPrefix(old, *ids);
  const int settled = CountSettled(*ids);
  settled_ = std::max(std::min(settled_, same), first_ + settled);
  tokens_.resize(static_cast<std::size_t>(first_));
  tokens_.insert(tokens_.end(), ids->begin(), ids->end());
  if (window_.size() > limit_) MoveOn(*ids, settled);
  return absl::OkStatus();
}

// How many of the window's tokens, which are `ids`, stay.
int GrowingText::CountSettled(absl::Span<const TokenId> ids) const {
  const absl::string_view text = window_;
  int settled = static_cast<int>(ids.size());
  std::size_t read = text.size();  // the last j that was tried
  const std::size_t longest = std::min(text.size(), spellings_->longest());
  for (std::size_t j = text.size() - longest; j < text.size(); ++j) {
    // Some tokenizers put a space before a text.
    const bool goes_on = spellings_->BeginsLonger(text.substr(j)) ||
                         (j == 0 && is_whole_ &&
                          spellings_->BeginsLonger(absl::StrCat(" ", text)));
    if (!goes_on) continue;
    std::size_t at = j;
    while (!BeginsCharacter(text, at)) --at;
    if (at == read) continue;
    read = at;
    const auto part = Encode(text.substr(0, at));
    settled = std::min(settled, part.ok() ? CommonPrefix(ids, *part) : 0);
  }
  return settled;
}

// Lets the window begin later, if its tokens are found again from there.
void GrowingText::MoveOn(absl::Span<const TokenId> ids, int settled) {
  limit_ = 2 * window_.size();  // if they are not
  std::size_t begin = window_.size() - std::min(window_.size(), kKept);
  while (!BeginsCharacter(window_, begin)) ++begin;
  const absl::string_view rest = absl::string_view(window_).substr(begin);
  const auto found = spellings_->tokenizer().Encode(
      rest, {.add_special = false, .parse_special = false});
  if (!found.ok()) return;
  const std::size_t same = CommonSuffix(ids, *found);
  const int moved = static_cast<int>(ids.size() - same);
  if (settled - moved < kSure) return;
  first_ += moved;
  dropped_ = static_cast<int>(found->size() - same);
  is_whole_ = false;
  window_ = std::string(rest);
  limit_ = kLongest;
}

void GrowingText::End(std::optional<TokenId> token) {
  if (token.has_value()) tokens_.push_back(*token);
  settled_ = first_ = static_cast<int>(tokens_.size());
  dropped_ = 0;
  is_whole_ = true;
  window_.clear();
  limit_ = kLongest;
}

GrowingText GrowingText::Branch() const {
  GrowingText branch(*spellings_);
  branch.tokens_ = {tokens_.begin() + first_, tokens_.end()};
  branch.settled_ = std::max(0, settled_ - first_);
  branch.window_ = window_;
  branch.is_whole_ = is_whole_;
  branch.limit_ = limit_;
  branch.dropped_ = dropped_;
  return branch;
}

}  // namespace banyan
