#include "drafters/text/recent_grams.h"

#include <algorithm>

#include "core/base/check.h"

namespace banyan {
namespace {

// Where `token` stands in a row, or would.
template <typename Row>
auto Place(Row& row, TokenId token) {
  return std::lower_bound(
      row.begin(), row.end(), token,
      [](const Continuation& seen, TokenId id) { return seen.token < id; });
}

}  // namespace

RecentGrams::RecentGrams(const GramOptions& options) : options_(options) {
  Check(options.shortest >= 1 && options.shortest <= options.longest,
        "contexts of at least one token");
  Check(options.history == 0 || options.history > options.longest,
        "a history that holds a gram");
}

void RecentGrams::Clear() {
  window_.clear();
  rows_.clear();
  BeginText();
}

void RecentGrams::BeginText() { text_length_ = 0; }

void RecentGrams::Follow(absl::Span<const TokenId> text) {
  Check(static_cast<std::size_t>(text_length_) <= text.size(),
        "a text only grows");
  for (auto at = static_cast<std::size_t>(text_length_); at < text.size(); ++at)
    Append(text[at]);
}

void RecentGrams::Append(TokenId token) {
  const auto history = static_cast<std::size_t>(options_.history);
  if (history > 0 && window_.size() == history) DropOldest();
  const std::int64_t before = text_length_++;
  window_.push_back({token, before});
  ++appended_;
  if (!IsContinuation(token)) return;
  // What is left of the text before it lies in the window: that holds more
  // tokens than the longest context.
  const std::size_t at = window_.size() - 1;
  for (std::int64_t size = options_.shortest;
       size <= std::min<std::int64_t>(options_.longest, before); ++size)
    Count(at - static_cast<std::size_t>(size), static_cast<std::size_t>(size));
}

// The grams that begin with it are in the window as a whole, which is full.
void RecentGrams::DropOldest() {
  for (int size = options_.shortest; size <= options_.longest; ++size) {
    const Read& last = window_[static_cast<std::size_t>(size)];
    if (last.before >= size && IsContinuation(last.token))
      TakeBack(0, static_cast<std::size_t>(size));
  }
  window_.pop_front();
}

void RecentGrams::Count(std::size_t first, std::size_t size) {
  const TokenId token = window_[first + size].token;
  Row& row = rows_[GramAt(first, size)];
  auto seen = Place(row, token);
  if (seen == row.end() || seen->token != token)
    seen = row.insert(seen, {.token = token});
  ++seen->count;
  seen->last_seen = appended_;
}

void RecentGrams::TakeBack(std::size_t first, std::size_t size) {
  const auto found = rows_.find(GramAt(first, size));
  Check(found != rows_.end(), "a gram of the window was counted");
  Row& row = found->second;
  const auto seen = Place(row, window_[first + size].token);
  if (--seen->count == 0) row.erase(seen);
  if (row.empty()) rows_.erase(found);
}

RecentGrams::Gram RecentGrams::GramAt(std::size_t first,
                                      std::size_t size) const {
  Gram gram;
  for (std::size_t i = first; i < first + size; ++i)
    gram.push_back(window_[i].token);
  return gram;
}

bool RecentGrams::IsContinuation(TokenId token) const {
  return token >= 0 && token < options_.vocab_size;
}

absl::Span<const Continuation> RecentGrams::After(
    absl::Span<const TokenId> context) const {
  const auto found = rows_.find(Gram(context.begin(), context.end()));
  if (found == rows_.end()) return {};
  return found->second;
}

double RecentGrams::Recency(const Continuation& seen) const {
  const auto size = static_cast<std::int64_t>(window_.size());
  return static_cast<double>(seen.last_seen - (appended_ - size)) /
         static_cast<double>(size + 1);
}

std::vector<TokenId> LastTokens(const Context& context,
                                absl::Span<const TokenId> path, int count) {
  const auto wanted = static_cast<std::size_t>(count);
  if (path.size() >= wanted)
    return {path.end() - static_cast<std::ptrdiff_t>(wanted), path.end()};
  const std::size_t before =
      std::min(wanted - path.size(), context.tokens.size());
  std::vector<TokenId> tokens(
      context.tokens.end() - static_cast<std::ptrdiff_t>(before),
      context.tokens.end());
  tokens.insert(tokens.end(), path.begin(), path.end());
  return tokens;
}

}  // namespace banyan
