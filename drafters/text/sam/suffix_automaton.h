// SuffixAutomaton: the smallest machine that knows every passage of a text, and
// where each stood first (Blumer et al., 1985).
//
// Passages that end at the same places are one state; the longest of them is
// its length. A state's link is the state of the longest of its suffixes that
// ends elsewhere too, so the links of a passage lead through its suffixes, each
// of which stands at least as early. A token makes a state, and at times a copy
// of one, whose passages part by their ends.
//
// n tokens make at most 2 n states and 3 n transitions; that is also, but for a
// constant, what reading them takes, one token or another more. A match costs a
// constant a token, likewise over many. It holds some 80 bytes a token, at most
// 120, and up to twice that where its tables have just grown.
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

  // The longest suffix of a passage and a token behind it that is in the text.
  Match Advance(Match match, TokenId token) const;
  // The longest suffix of the text that stood in it before.
  Match Repeated() const;

  // How many tokens the text had when a state's passages stood first.
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
