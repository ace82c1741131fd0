#include "drafters/text/sam/suffix_automaton.h"

#include "core/base/token.h"

namespace banyan {

void SuffixAutomaton::Append(TokenId token) {
  tokens_.push_back(token);
  const int own = states();
  states_.push_back({.length = size(), .first_end = size()});
  int at = last_;
  last_ = own;
  for (; at >= 0 && Go(at, token) < 0; at = states_[At(at)].link)
    Lead(at, token, own);
  if (at < 0) {
    states_[At(own)].link = 0;
    return;
  }
  const int known = Go(at, token);
  const int length = states_[At(at)].length + 1;
  if (states_[At(known)].length == length) {
    states_[At(own)].link = known;
    return;
  }
  const int copy = CopyFor(known, length);
  for (; at >= 0 && Go(at, token) == known; at = states_[At(at)].link)
    to_[{at, token}] = copy;
  states_[At(known)].link = copy;
  states_[At(own)].link = copy;
}

SuffixAutomaton::Match SuffixAutomaton::Advance(Match match,
                                                TokenId token) const {
  int to = Go(match.state, token);
  while (to < 0 && match.state != 0) {
    match.state = states_[At(match.state)].link;
    match.length = states_[At(match.state)].length;
    to = Go(match.state, token);
  }
  return to < 0 ? Match() : Match{to, match.length + 1};
}

// All passages of the last state end at the end alone; its link's do not.
SuffixAutomaton::Match SuffixAutomaton::Repeated() const {
  if (last_ == 0) return {};
  const int state = states_[At(last_)].link;
  return {state, states_[At(state)].length};
}

int SuffixAutomaton::Go(int state, TokenId token) const {
  const auto found = to_.find({state, token});
  return found == to_.end() ? -1 : found->second;
}

void SuffixAutomaton::Lead(int state, TokenId token, int to) {
  const int transition = static_cast<int>(transitions_.size());
  transitions_.push_back({token, states_[At(state)].out});
  states_[At(state)].out = transition;
  to_[{state, token}] = to;
}

// Makes a state for those of its passages of at most `length` tokens.
int SuffixAutomaton::CopyFor(int state, int length) {
  const int copy = states();
  const State known = states_[At(state)];
  states_.push_back(
      {.length = length, .link = known.link, .first_end = known.first_end});
  for (int out = known.out; out >= 0; out = transitions_[At(out)].next) {
    const TokenId token = transitions_[At(out)].token;
    Lead(copy, token, Go(state, token));
  }
  return copy;
}

}  // namespace banyan
