#include "drafters/text/sam/sam.h"

#include <algorithm>
#include <optional>

#include "core/base/common.h"
#include "core/base/params.h"
#include "core/model/context.h"
#include "drafters/rows.h"
#include "drafters/text/token_counts.h"
#include "drafters/workbench.h"

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

class SamSession : public CarryingSession<PastTexts> {
 public:
  explicit SamSession(const Sam& drafter)
      : CarryingSession(drafter.past_, drafter.options_.keep_texts),
        options_(drafter.options_) {}

  // 0 if it drafts nothing.
  std::optional<double> Promise(const Context& /*context*/) const override {
    return std::min(worth_, plan().size() - 1);
  }

 protected:
  absl::Status Follow(const Context& context) override;
  DraftPlan Plan(const Context& context) override;

 private:
  std::vector<TokenId> AfterOwn(int state) const;

  SamOptions options_;
  SuffixAutomaton own_;
  SuffixAutomaton::Match past_match_;
  int worth_ = 0;  // of the match that is drafted from
};

Sam::Sam(int vocab_size, const SamOptions& options, const SamplingRule& rule)
    : PlanDrafter(vocab_size, CountRule(rule),
                  options.keep_texts ? &past_ : nullptr),
      options_(options),
      past_("texts", PastTexts(options.texts)) {}

std::unique_ptr<DraftSession> Sam::NewSession() const {
  return std::make_unique<SamSession>(*this);
}

absl::Status SamSession::Follow(const Context& context) {
  for (auto at = static_cast<std::size_t>(own_.size());
       at < context.tokens.size(); ++at) {
    own_.Append(context.tokens[at]);
    past_match_ = store().automaton().Advance(past_match_, context.tokens[at]);
  }
  return absl::OkStatus();
}

DraftPlan SamSession::Plan(const Context& /*context*/) {
  const SuffixAutomaton::Match own = own_.Repeated();
  const int past_worth = past_match_.length - options_.bias;
  worth_ = std::max(own.length, past_worth);
  if (worth_ < options_.threshold) return {};
  return DraftPlan::Chain(
      own.length >= past_worth
          ? AfterOwn(own.state)
          : store().After(store().automaton().first_end(past_match_.state),
                          options_.tokens));
}

// After the first place of a suffix that enough tokens follow.
std::vector<TokenId> SamSession::AfterOwn(int state) const {
  while (own_.size() - own_.first_end(state) < options_.tokens &&
         own_.link(state) != 0)
    state = own_.link(state);
  std::vector<TokenId> tokens;
  for (int place = own_.first_end(state);
       place < own_.size() && static_cast<int>(tokens.size()) < options_.tokens;
       ++place)
    tokens.push_back(own_.token(place));
  return tokens;
}

namespace {

BuiltDrafter BuildSam(ParamsReader& in, const SamOptions& options,
                      Workbench& bench) {
  BANYAN_ASSIGN_OR_RETURN(const SamplingRule rule, bench.TakeRule(in));
  BANYAN_RETURN_IF_ERROR(in.Finish());
  return std::make_unique<Sam>(bench.target().vocab_size(), options, rule);
}

}  // namespace

DrafterRow SamRow() {
  Keys<SamOptions> keys;
  keys.AtLeast("threshold", &SamOptions::threshold, 1,
               "The shortest match that is drafted from, in tokens.");
  keys.AtLeast("tokens", &SamOptions::tokens, 1,
               "The most tokens that are drafted.");
  AddReset(keys, &SamOptions::keep_texts);
  keys.AtLeast("bias", &SamOptions::bias, 0,
               "How many tokens less a match in an earlier prompt's text is "
               "worth, with `reset: never`.")
      .OnlyWith("reset", "never",
                "is that of texts of earlier prompts, of which there are none "
                "unless reset is never");
  AddTexts(keys);
  keys.Described(SamplingKey());
  return {
      .name = "sam",
      .sentence =
          "SAM decoding: what followed the longest repeated end of the text.",
      .draw_kinds = EveryDrawKind(),
      .keys = keys.Rows(),
      .build = keys.ReadFor(BuildSam),
      .examples = {"{threshold: 1}"}};
}

}  // namespace banyan
