#include "drafters/text/sam/sam.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/base/params.h"
#include "core/base/status_macros.h"
#include "core/base/token.h"
#include "core/model/context.h"
#include "core/prob/sampling_rule.h"
#include "drafters/catalogue.h"
#include "drafters/composed/inner_drafters.h"
#include "drafters/drafter.h"
#include "drafters/text/count_rule.h"
#include "drafters/text/draft_plan.h"
#include "drafters/text/plan_drafter.h"
#include "drafters/text/sam/past_texts.h"
#include "drafters/text/sam/sam_or_else.h"
#include "drafters/text/sam/suffix_automaton.h"
#include "drafters/text/what_was_said.h"
#include "drafters/workbench.h"

namespace banyan {

absl::StatusOr<std::unique_ptr<Drafter>> Sam::Build(ParamsReader& in,
                                                    Workbench& bench) {
  SamOptions options;
  std::string reset = "prompt";
  in.Optional("threshold", options.threshold);
  in.Ensure(options.threshold >= 1, "threshold", "must be at least 1");
  in.Optional("tokens", options.tokens);
  in.Ensure(options.tokens >= 1, "tokens", "must be at least 1");
  in.Optional("reset", reset);
  in.Ensure(reset == "prompt" || reset == "never", "reset",
            "must be prompt or never");
  options.keep_texts = reset == "never";
  const bool biased = in.Optional("bias", options.bias);
  const bool limited = in.Optional("texts", options.texts);
  in.Ensure(options.keep_texts || !biased, "bias",
            "is that of texts of earlier prompts, of which there are none "
            "unless reset is never");
  in.Ensure(options.keep_texts || !limited, "texts",
            "limits what is kept from prompt to prompt, which is nothing "
            "unless reset is never");
  in.Ensure(options.bias >= 0, "bias", "must be at least 0");
  in.Ensure(options.texts >= 1, "texts", "must be at least 1");
  Params fallback;
  int depth = 0;
  const bool hands_over = in.Optional("fallback", fallback);
  const bool shallow = in.Optional("fallback_depth", depth);
  in.Ensure(hands_over || !shallow, "fallback_depth",
            "needs a fallback, whose levels it limits");
  in.Ensure(depth >= 0, "fallback_depth",
            "must be at least 1, or 0 for no limit");
  BANYAN_ASSIGN_OR_RETURN(const SamplingRule rule, bench.TakeRule(in));
  BANYAN_RETURN_IF_ERROR(in.Finish());
  auto sam = std::make_unique<Sam>(bench.target().vocab_size(), options, rule);
  if (!hands_over) return sam;
  std::vector<std::unique_ptr<Drafter>> parts;
  parts.push_back(std::move(sam));
  BANYAN_ASSIGN_OR_RETURN(std::unique_ptr<Drafter> other,
                          BuildDrafter(fallback, bench));
  parts.push_back(std::move(other));
  return std::make_unique<SamOrElse>(InnerDrafters(std::move(parts)), depth);
}

Sam::Sam(int vocab_size, const SamOptions& options, const SamplingRule& rule)
    : PlanDrafter(vocab_size, CountRule(rule)),
      options_(options),
      past_(PastTexts(options.texts)) {}

std::string Sam::End() {
  if (!options_.keep_texts) return {};
  past_.Release();
  return PromptOfLength(prompt_length_);
}

absl::Status Sam::Absorb(absl::Span<const TokenId> text,
                         absl::string_view learnt) {
  if (!options_.keep_texts) return absl::OkStatus();
  BANYAN_ASSIGN_OR_RETURN(const absl::Span<const TokenId> said,
                          WhatWasSaid(text, learnt));
  past_.Own().Add(said);
  return absl::OkStatus();
}

absl::Status Sam::CheckLesson(absl::Span<const TokenId> text,
                              absl::string_view learnt) const {
  return options_.keep_texts ? WhatWasSaid(text, learnt).status()
                             : absl::OkStatus();
}

std::vector<Carried> Sam::carried() const {
  if (!options_.keep_texts) return {};
  return {
      {.unit = "texts", .held = past_->held(), .dropped = past_->dropped()}};
}

std::optional<double> Sam::Promise(const Context& /*context*/) const {
  return std::min(worth_, plan().size() - 1);
}

absl::Status Sam::Start(const Context& context) {
  own_ = SuffixAutomaton();
  past_match_ = {};
  prompt_length_ = context.prompt_length;
  return absl::OkStatus();
}

absl::Status Sam::Follow(const Context& context) {
  for (auto at = static_cast<std::size_t>(own_.size());
       at < context.tokens.size(); ++at) {
    own_.Append(context.tokens[at]);
    past_match_ = past_->automaton().Advance(past_match_, context.tokens[at]);
  }
  return absl::OkStatus();
}

DraftPlan Sam::Plan(const Context& /*context*/) {
  const SuffixAutomaton::Match own = own_.Repeated();
  const int past_worth = past_match_.length - options_.bias;
  worth_ = std::max(own.length, past_worth);
  if (worth_ < options_.threshold) return {};
  return DraftPlan::Chain(
      own.length >= past_worth
          ? AfterOwn(own.state)
          : past_->After(past_->automaton().first_end(past_match_.state),
                         options_.tokens));
}

// Behind the first place of a suffix with enough behind it.
std::vector<TokenId> Sam::AfterOwn(int state) const {
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

}  // namespace banyan
