// PastTexts: the latest texts in one suffix automaton.
//
// The automaton reads them as one text, each after the last with an end between
// them that is no token, so that no passage crosses texts. An automaton cannot
// forget: when there are more than `limit` texts, the oldest tenth is dropped
// at once and the automaton is made anew of the rest. So a text is read some
// ten times while it is held.
#ifndef BANYAN_DRAFTERS_TEXT_SAM_PAST_TEXTS_H_
#define BANYAN_DRAFTERS_TEXT_SAM_PAST_TEXTS_H_

#include <cstdint>
#include <deque>
#include <vector>

#include "absl/types/span.h"
#include "core/base/token.h"
#include "drafters/text/sam/suffix_automaton.h"

namespace banyan {

class PastTexts {
 public:
  // limit >= 1.
  explicit PastTexts(int limit) : limit_(limit) {}

  void Add(absl::Span<const TokenId> text);

  int held() const { return static_cast<int>(texts_.size()); }
  std::int64_t dropped() const { return dropped_; }
  const SuffixAutomaton& automaton() const { return automaton_; }
  // Returns the tokens after the first `end` ones, at most `most` and none of
  // the next text.
  std::vector<TokenId> After(int end, int most) const;

 private:
  void Read(absl::Span<const TokenId> text);

  int limit_;
  std::int64_t dropped_ = 0;
  std::deque<std::vector<TokenId>> texts_;
  SuffixAutomaton automaton_;
};

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_TEXT_SAM_PAST_TEXTS_H_
