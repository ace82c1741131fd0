#include "drafters/text/trie/trie.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
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
#include "drafters/text/trie/branch_store.h"
#include "drafters/text/trie/branch_trie.h"
#include "drafters/text/trie/retrieve.h"
#include "drafters/text/what_was_said.h"
#include "drafters/workbench.h"
#include "tree/tree_policy.h"

namespace banyan {
namespace {

// What a token of an output weighs beside one of the prompt, as published.
constexpr double kOutputWeight = 1e-4;

// A token puts so many nodes in; deeper ones are seldom reached.
constexpr int kMostLength = 64;
constexpr int kMostMatch = 8;

}  // namespace

absl::StatusOr<std::unique_ptr<Drafter>> Trie::Build(ParamsReader& in,
                                                     Workbench& bench) {
  TrieOptions options;
  std::string reset = "prompt";
  in.Optional("branch_length", options.branch_length);
  in.Ensure(options.branch_length >= 1 && options.branch_length <= kMostLength,
            "branch_length",
            absl::StrCat("must lie between 1 and ", kMostLength));
  in.Optional("max_match", options.max_match);
  in.Ensure(options.max_match >= 1 && options.max_match <= kMostMatch,
            "max_match", absl::StrCat("must lie between 1 and ", kMostMatch));
  in.Optional("nodes", options.nodes);
  in.Ensure(options.nodes >= 1 && options.nodes <= kMaxDraws, "nodes",
            absl::StrCat("must lie between 1 and ", kMaxDraws));
  in.Optional("max_output_nodes", options.limits.output_nodes);
  in.Ensure(options.limits.output_nodes >= 1, "max_output_nodes",
            "must be at least 1");
  in.Optional("max_nodes", options.limits.nodes);
  in.Ensure(options.limits.nodes >= options.limits.output_nodes, "max_nodes",
            absl::StrCat("must be at least max_output_nodes, which is ",
                         options.limits.output_nodes));
  in.Optional("reset", reset);
  in.Ensure(reset == "prompt" || reset == "never", "reset",
            "must be prompt or never");
  options.keep_outputs = reset == "never";
  BANYAN_ASSIGN_OR_RETURN(const SamplingRule rule, bench.TakeRule(in));
  BANYAN_RETURN_IF_ERROR(in.Finish());
  return std::make_unique<Trie>(bench.target().vocab_size(), options, rule);
}

Trie::Trie(int vocab_size, const TrieOptions& options, const SamplingRule& rule)
    : PlanDrafter(vocab_size, CountRule(rule)),
      options_(options),
      kept_(
          BranchStore(options.branch_length + options.max_match - 1,
                      {.prompt = 1 - kOutputWeight, .output = kOutputWeight})),
      store_(kept_) {}

std::string Trie::End() {
  kept_.Release();
  store_.Release();
  if (!options_.keep_outputs) return {};
  return PromptOfLength(static_cast<int>(prompt_length_));
}

absl::Status Trie::Absorb(absl::Span<const TokenId> text,
                          absl::string_view learnt) {
  if (!options_.keep_outputs) return absl::OkStatus();
  BANYAN_ASSIGN_OR_RETURN(const absl::Span<const TokenId> said,
                          WhatWasSaid(text, learnt));
  dropped_ += kept_.Own().TakeOver(said, options_.limits);
  return absl::OkStatus();
}

absl::Status Trie::CheckLesson(absl::Span<const TokenId> text,
                               absl::string_view learnt) const {
  return options_.keep_outputs ? WhatWasSaid(text, learnt).status()
                               : absl::OkStatus();
}

std::vector<Carried> Trie::carried() const {
  if (!options_.keep_outputs) return {};
  return {
      {.unit = "nodes", .held = kept_->output_nodes(), .dropped = dropped_}};
}

absl::Status Trie::Start(const Context& context) {
  store_ = kept_;
  prompt_length_ = static_cast<std::size_t>(context.prompt_length);
  next_branch_ = prompt_length_;
  const absl::Span<const TokenId> prompt =
      absl::MakeSpan(context.tokens).first(prompt_length_);
  for (std::size_t at = 0; at < prompt.size(); ++at)
    store_.Own().Put(prompt, at, Source::kPrompt);
  return absl::OkStatus();
}

absl::Status Trie::Follow(const Context& context) {
  const absl::Span<const TokenId> text = context.tokens;
  for (; next_branch_ + Length() < text.size(); ++next_branch_)
    store_.Own().Put(text, next_branch_, Source::kOutput);
  return absl::OkStatus();
}

DraftPlan Trie::Plan(const Context& context) {
  const absl::Span<const TokenId> text = context.tokens;
  DraftPlan plan;
  for (std::size_t size =
           std::min(text.size(), static_cast<std::size_t>(options_.max_match));
       size >= 1; --size) {
    const absl::Span<const TokenId> match = text.last(size);
    const BranchStore::Tries* tries = store_->Of(match.front());
    if (tries == nullptr) continue;
    DraftPlan found = Retrieve(*tries, match.subspan(1),
                               {.depth = options_.branch_length,
                                .nodes = options_.nodes,
                                .output_nodes = (options_.nodes + 1) / 2});
    if (found.size() > 1) plan = std::move(found);
    if (plan.size() >= options_.branch_length) break;
  }
  return plan;
}

}  // namespace banyan
