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
#ifndef BANYAN_DRAFTERS_TEXT_SAM_SUFFIX_AUTOMATON_H_
#define BANYAN_DRAFTERS_TEXT_SAM_SUFFIX_AUTOMATON_H_

#include <cstddef>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/base/token.h"

namespace banyan {

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

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_TEXT_SAM_SUFFIX_AUTOMATON_H_
