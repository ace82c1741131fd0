#include "drafters/text/sam/sam.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "core/base/keys.h"
#include "core/base/status_macros.h"
#include "core/base/token.h"
#include "core/model/context.h"
#include "core/prob/sampling_rule.h"
#include "drafters/drafter.h"
#include "drafters/row.h"
#include "drafters/text/carried_texts.h"
#include "drafters/text/count_rule.h"
#include "drafters/text/draft_plan.h"
#include "drafters/text/plan_drafter.h"
#include "drafters/text/sam/past_texts.h"
#include "drafters/text/sam/suffix_automaton.h"
#include "drafters/workbench.h"

namespace banyan {

class Sam::Sequence : public CarryingSession<PastTexts> {
 public:
  explicit Sequence(const Sam& drafter)
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
  return std::make_unique<Sequence>(*this);
}

absl::Status Sam::Sequence::Follow(const Context& context) {
  for (auto at = static_cast<std::size_t>(own_.size());
       at < context.tokens.size(); ++at) {
    own_.Append(context.tokens[at]);
    past_match_ = store().automaton().Advance(past_match_, context.tokens[at]);
  }
  return absl::OkStatus();
}

DraftPlan Sam::Sequence::Plan(const Context& /*context*/) {
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
std::vector<TokenId> Sam::Sequence::AfterOwn(int state) const {
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

using Options = SamOptions;

BuiltDrafter Build(ParamsReader& in, const Options& options, Workbench& bench) {
  BANYAN_ASSIGN_OR_RETURN(const SamplingRule rule, bench.TakeRule(in));
  BANYAN_RETURN_IF_ERROR(in.Finish());
  return std::make_unique<Sam>(bench.target().vocab_size(), options, rule);
}

}  // namespace

DrafterRow SamRow() {
  Keys<Options> keys;
  keys.AtLeast("threshold", &Options::threshold, 1,
               "The shortest match that is drafted from, in tokens.");
  keys.AtLeast("tokens", &Options::tokens, 1,
               "The most tokens that are drafted.");
  AddReset(keys, &Options::keep_texts);
  keys.AtLeast("bias", &Options::bias, 0,
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
      .build = keys.ReadFor(Build),
      .examples = {"{threshold: 1}"}};
}

}  // namespace banyan
