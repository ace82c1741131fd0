#include "drafters/text/sam/past_texts.h"

#include <algorithm>
#include <vector>

#include "absl/types/span.h"
#include "core/base/token.h"
#include "drafters/text/sam/suffix_automaton.h"

namespace banyan {
namespace {

constexpr TokenId kEnd = -1;

// Of the limit, that goes at once: a larger share is missed, a smaller one has
// the machine made anew more often.
constexpr int kShareDropped = 10;

}  // namespace

void PastTexts::Add(absl::Span<const TokenId> text) {
  texts_.emplace_back(text.begin(), text.end());
  if (held() <= limit_) {
    Read(text);
    return;
  }
  const int drop = std::max(1, limit_ / kShareDropped);
  texts_.erase(texts_.begin(), texts_.begin() + drop);
  dropped_ += drop;
  automaton_ = SuffixAutomaton();
  for (const std::vector<TokenId>& kept : texts_) Read(kept);
}

void PastTexts::Read(absl::Span<const TokenId> text) {
  for (TokenId token : text) automaton_.Append(token);
  automaton_.Append(kEnd);
}

std::vector<TokenId> PastTexts::After(int end, int most) const {
  std::vector<TokenId> tokens;
  for (int place = end;
       place < automaton_.size() && static_cast<int>(tokens.size()) < most &&
       automaton_.token(place) != kEnd;
       ++place)
    tokens.push_back(automaton_.token(place));
  return tokens;
}

}  // namespace banyan
