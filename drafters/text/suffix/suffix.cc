#include "drafters/text/suffix/suffix.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/base/params.h"
#include "core/base/status_macros.h"
#include "core/base/token.h"
#include "core/model/context.h"
#include "core/prob/sampling_rule.h"
#include "drafters/drafter.h"
#include "drafters/text/count_rule.h"
#include "drafters/text/draft_plan.h"
#include "drafters/text/plan_drafter.h"
#include "drafters/text/suffix/follow_on.h"
#include "drafters/text/suffix/suffix_tree.h"
#include "drafters/text/what_was_said.h"
#include "drafters/workbench.h"

namespace banyan {
namespace {

// A token costs so many steps in each tree.
constexpr int kMostDepth = 256;

// A node is asked for at most as many children as this goes into 1.
constexpr double kLeastProbability = 0.001;

// What the authors add before they round a budget down, lest 0.1 times 30 be 2.
constexpr double kRounding = 1e-6;

}  // namespace

absl::StatusOr<std::unique_ptr<Drafter>> Suffix::Build(ParamsReader& in,
                                                       Workbench& bench) {
  SuffixOptions options;
  std::string mode = "path";
  std::string reset = "prompt";
  in.Optional("depth", options.depth);
  in.Ensure(options.depth >= 2 && options.depth <= kMostDepth, "depth",
            absl::StrCat("must lie between 2 and ", kMostDepth));
  options.max_tokens = options.depth;
  in.Optional("max_tokens", options.max_tokens);
  in.Ensure(options.max_tokens >= 1, "max_tokens", "must be at least 1");
  in.Optional("factor", options.factor);
  in.Ensure(options.factor >= 0, "factor", "must be at least 0");
  in.Optional("offset", options.offset);
  in.Optional("min_probability", options.min_probability);
  in.Ensure(options.min_probability >= kLeastProbability &&
                options.min_probability <= 1,
            "min_probability",
            absl::StrCat("must lie between ", kLeastProbability, " and 1"));
  in.Optional("mode", mode);
  in.Ensure(mode == "path" || mode == "tree", "mode", "must be path or tree");
  options.as_tree = mode == "tree";
  in.Optional("reset", reset);
  in.Ensure(reset == "prompt" || reset == "never", "reset",
            "must be prompt or never");
  options.keep_texts = reset == "never";
  const bool limited = in.Optional("texts", options.texts);
  in.Ensure(options.keep_texts || !limited, "texts",
            "limits what is kept from prompt to prompt, which is nothing "
            "unless reset is never");
  in.Ensure(options.texts >= 1, "texts", "must be at least 1");
  BANYAN_ASSIGN_OR_RETURN(const SamplingRule rule, bench.TakeRule(in));
  BANYAN_RETURN_IF_ERROR(in.Finish());
  return std::make_unique<Suffix>(bench.target().vocab_size(), options, rule);
}

Suffix::Suffix(int vocab_size, const SuffixOptions& options,
               const SamplingRule& rule)
    : PlanDrafter(vocab_size, CountRule(rule)),
      options_(options),
      own_(options.depth),
      past_(PastTexts{.tree = SuffixTree(options.depth)}),
      follow_on_(options.as_tree, options.min_probability) {}

std::string Suffix::End() {
  if (!options_.keep_texts) return {};
  past_.Release();
  return PromptOfLength(prompt_length_);
}

absl::Status Suffix::Absorb(absl::Span<const TokenId> text,
                            absl::string_view learnt) {
  if (!options_.keep_texts) return absl::OkStatus();
  BANYAN_ASSIGN_OR_RETURN(const absl::Span<const TokenId> said,
                          WhatWasSaid(text, learnt));
  PastTexts& past = past_.Own();
  for (TokenId token : said) past.tree.Append(token);
  past.tree.EndText();
  for (; past.tree.texts() > options_.texts; ++past.dropped)
    past.tree.DropOldest();
  return absl::OkStatus();
}

absl::Status Suffix::CheckLesson(absl::Span<const TokenId> text,
                                 absl::string_view learnt) const {
  return options_.keep_texts ? WhatWasSaid(text, learnt).status()
                             : absl::OkStatus();
}

std::vector<Carried> Suffix::carried() const {
  if (!options_.keep_texts) return {};
  return {{.unit = "texts",
           .held = past_->tree.texts(),
           .dropped = past_->dropped}};
}

absl::Status Suffix::Start(const Context& context) {
  own_ = SuffixTree(options_.depth);
  prompt_length_ = context.prompt_length;
  followed_ = 0;
  return absl::OkStatus();
}

absl::Status Suffix::Follow(const Context& context) {
  const auto prompt = static_cast<std::size_t>(prompt_length_);
  for (; followed_ < context.tokens.size(); ++followed_) {
    const TokenId token = context.tokens[followed_];
    own_.Append(token);
    if (options_.keep_texts && followed_ >= prompt)
      past_.Own().tree.Append(token);
  }
  return absl::OkStatus();
}

// Those of what was emitted are known. Where the last tokens do not stand, more
// of them do not either.
std::vector<SuffixTree::Place> Suffix::PastPlaces(
    absl::Span<const TokenId> text) const {
  const SuffixTree& tree = past_->tree;
  std::vector<SuffixTree::Place> places;
  for (int node : tree.ends()) places.push_back(tree.EndOf(node));
  const std::size_t most =
      std::min(text.size(), static_cast<std::size_t>(options_.depth));
  while (places.size() < most) {
    SuffixTree::Place place;
    for (TokenId token : text.last(places.size() + 1))
      if (!tree.Step(token, place)) return places;
    places.push_back(place);
  }
  return places;
}

int Suffix::Budget(int match) const {
  const double budget =
      std::floor(options_.factor * match + options_.offset + kRounding);
  return static_cast<int>(std::clamp<double>(budget, 0, options_.max_tokens));
}

Suffix::Choice Suffix::Best(const SuffixTree& tree,
                            absl::Span<const SuffixTree::Place> places) {
  Choice best;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const int budget = Budget(static_cast<int>(i) + 1);
    if (budget == 0) continue;
    follow_on_.Find(tree, places[i], budget);
    if (follow_on_.score() >= best.score)
      best = {places[i], budget, follow_on_.score()};
  }
  return best;
}

DraftPlan Suffix::Plan(const Context& context) {
  std::vector<SuffixTree::Place> own_places;
  for (int node : own_.ends()) own_places.push_back(own_.EndOf(node));
  const Choice own = Best(own_, own_places);
  const Choice past = Best(past_->tree, PastPlaces(context.tokens));
  const bool from_past = past.score > own.score;
  const SuffixTree& tree = from_past ? past_->tree : own_;
  const Choice& best = from_past ? past : own;
  if (best.score == 0) return {};
  follow_on_.Find(tree, best.place, best.budget);
  return follow_on_.Plan(tree);
}

}  // namespace banyan
