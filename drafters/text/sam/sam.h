// SAM decoding: drafts what followed the end of the text where that end
// occurred first (Hu et al., arXiv:2411.10666).
//
// Claim. The longer a repeated passage, the surer its continuation. After a
// short one a model guesses better than a copy. A suffix automaton finds the
// longest one at almost no cost.
//
// Rule. The longest suffix of the text that occurs in it earlier has l tokens.
// The longest suffix that occurs in texts of earlier prompts has l' tokens,
// which are worth l' - `bias`. The larger is taken, the text's own on a tie. If
// it is at least `threshold`, what followed is drafted, a chain of at most
// `tokens`; else nothing. The authors then hand over to another drafter, as
// `or_else` does.
//
// The continuation is read after the earliest place. In the text itself that
// may be so near the end that fewer than `tokens` follow, as in a repetition
// under way. Then shorter suffixes, by the links of the automaton, are tried
// until `tokens` follow or none is left. That takes at most `tokens` steps:
// their first places all lie among the last `tokens` tokens, and no two of them
// occur at the same places. Past texts end where they end.
//
// Promise() is the worth of the match, at most the draft's length: a repetition
// of n tokens is as likely as not to last n more.
//
// Why the output distribution is kept. The draft is chosen when a round is
// committed, from committed text and from texts of prompts that ended before
// this one began. A chain gives one token a node, a one-hot distribution.
//
// State. The past texts are none unless `reset` is never. Then what was emitted
// in each prompt is taken over, in their order, up to `texts` of them. A
// session sees them as they were when it was made: adding to texts that
// sessions read copies them first, which in batches is one copy a prompt.
//
// What differs: the authors pad a chain that is too short with token 0, which
// may be accepted by luck; here it ends. They draft `tokens` - 1 after the
// root, and go to a shorter suffix unless `tokens` + 1 follow the longer one;
// here both are `tokens`. So with `tokens: 39` the length is theirs, and with
// 40 one to three of a hundred drafts are copied from another place. Their past
// texts are a corpus that is read before, where a chain runs on into the next
// text.
#ifndef BANYAN_DRAFTERS_TEXT_SAM_SAM_H_
#define BANYAN_DRAFTERS_TEXT_SAM_SAM_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "core/base/token.h"
#include "core/prob/sampling_rule.h"
#include "drafters/drafter.h"
#include "drafters/text/carried_texts.h"
#include "drafters/text/plan_drafter.h"

namespace banyan {

// SuffixAutomaton: the smallest automaton that recognises every passage of a
// text, with where each occurred first (Blumer et al., 1985).
//
// Passages that end at the same places are one state, whose length is that of
// the longest. A state's link is the state of the longest of its suffixes that
// ends elsewhere too. So the links of a passage lead through its suffixes, each
// of which occurs at least as early. A token adds a state, and at times a copy
// of one whose passages no longer end at the same places.
//
// n tokens make at most 2 n states and 3 n transitions. Reading takes constant
// time per token, averaged over many, and so does a match. It holds some 80
// bytes per token, at most 120, and up to twice that where its tables have just
// grown.
class SuffixAutomaton {
 public:
  // A passage that is in the text: the state that knows it, and its length.
  // The root, state 0, knows the empty one alone.
  struct Match {
    int state = 0;
    int length = 0;
  };

  SuffixAutomaton() : states_(1) {}

  void Append(TokenId token);

  int size() const { return static_cast<int>(tokens_.size()); }
  TokenId token(int place) const { return tokens_[At(place)]; }
  int states() const { return static_cast<int>(states_.size()); }

  // Returns the longest suffix of a passage and the token after it that is in
  // the text.
  Match Advance(Match match, TokenId token) const;
  // The longest suffix of the text that occurs in it earlier too.
  Match Repeated() const;

  // The text's length when a state's passages first occurred.
  int first_end(int state) const { return states_[At(state)].first_end; }
  int link(int state) const { return states_[At(state)].link; }

 private:
  struct State {
    int length = 0;
    int link = -1;
    int first_end = 0;
    int out = -1;  // the latest of its transitions
  };
  struct Transition {
    TokenId token;
    int next;  // of the same state
  };

  static std::size_t At(int index) { return static_cast<std::size_t>(index); }
  // -1: there is no such transition.
  int Go(int state, TokenId token) const;
  void Lead(int state, TokenId token, int to);
  int CopyFor(int state, int length);

  std::vector<TokenId> tokens_;
  std::vector<State> states_;
  int last_ = 0;  // of the whole text
  std::vector<Transition> transitions_;
  absl::flat_hash_map<std::pair<int, TokenId>, int> to_;
};

// PastTexts: the latest texts in one suffix automaton.
//
// The automaton reads them as one text, each after the last with an end between
// them that is no token, so that no passage crosses texts. An automaton cannot
// forget: when there are more than `limit` texts, the oldest tenth is dropped
// at once and the automaton is made anew of the rest. So a text is read some
// ten times while it is held.
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

struct SamOptions {  // the authors' numbers
  int threshold = 5;
  int bias = 5;
  int tokens = 40;  // 15 in their command line
  bool keep_texts = false;
  int texts = 10'000;
};

class Sam : public PlanDrafter {
 public:
  // threshold >= 1, tokens >= 1.
  Sam(int vocab_size, const SamOptions& options, const SamplingRule& rule);

  std::unique_ptr<DraftSession> NewSession() const override;

 private:
  friend class SamSession;

  SamOptions options_;
  CarriedTexts<PastTexts> past_;
};

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_TEXT_SAM_SAM_H_
