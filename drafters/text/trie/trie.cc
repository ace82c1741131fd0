#include "drafters/text/trie/trie.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
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
#include "drafters/text/trie/branch_store.h"
#include "drafters/text/trie/branch_trie.h"
#include "drafters/text/trie/retrieve.h"
#include "drafters/workbench.h"
#include "tree/tree_policy.h"

namespace banyan {
namespace {

// What a token of an output weighs beside one of the prompt, as published.
constexpr double kOutputWeight = 1e-4;

// The nodes that a token puts in; deeper ones are seldom reached.
constexpr int kMostLength = 64;
constexpr int kMostMatch = 8;

}  // namespace

class Trie::Sequence : public CarryingSession<Outputs> {
 public:
  explicit Sequence(const Trie& drafter)
      : CarryingSession(drafter.outputs_, drafter.options_.keep_outputs),
        options_(drafter.options_) {}

 protected:
  void Start(const Context& context) override;
  absl::Status Follow(const Context& context) override;
  DraftPlan Plan(const Context& context) override;

 private:
  // Tokens of a branch after its first.
  std::size_t Length() const {
    return static_cast<std::size_t>(options_.branch_length +
                                    options_.max_match - 1);
  }

  TrieOptions options_;
  std::size_t next_branch_ = 0;  // of the output: where it begins in the text
};

Trie::Trie(int vocab_size, const TrieOptions& options, const SamplingRule& rule)
    : PlanDrafter(vocab_size, CountRule(rule),
                  options.keep_outputs ? &outputs_ : nullptr),
      options_(options),
      outputs_("nodes",
               {.branches = BranchStore(
                    options.branch_length + options.max_match - 1,
                    {.prompt = 1 - kOutputWeight, .output = kOutputWeight}),
                .limits = options.limits}) {}

std::unique_ptr<DraftSession> Trie::NewSession() const {
  return std::make_unique<Sequence>(*this);
}

void Trie::Sequence::Start(const Context& context) {
  next_branch_ = static_cast<std::size_t>(prompt_length());
  const absl::Span<const TokenId> prompt =
      absl::MakeSpan(context.tokens).first(next_branch_);
  for (std::size_t at = 0; at < prompt.size(); ++at)
    OwnStore().branches.Put(prompt, at, Source::kPrompt);
}

absl::Status Trie::Sequence::Follow(const Context& context) {
  const absl::Span<const TokenId> text = context.tokens;
  for (; next_branch_ + Length() < text.size(); ++next_branch_)
    OwnStore().branches.Put(text, next_branch_, Source::kOutput);
  return absl::OkStatus();
}

DraftPlan Trie::Sequence::Plan(const Context& context) {
  const absl::Span<const TokenId> text = context.tokens;
  DraftPlan plan;
  for (std::size_t size =
           std::min(text.size(), static_cast<std::size_t>(options_.max_match));
       size >= 1; --size) {
    const absl::Span<const TokenId> match = text.last(size);
    const BranchStore::Tries* tries = store().branches.Of(match.front());
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

namespace {

using Options = TrieOptions;

BuiltDrafter Build(ParamsReader& in, const Options& options, Workbench& bench) {
  in.Ensure(options.limits.nodes >= options.limits.output_nodes, "max_nodes",
            absl::StrCat("must be at least max_output_nodes, which is ",
                         options.limits.output_nodes));
  BANYAN_ASSIGN_OR_RETURN(const SamplingRule rule, bench.TakeRule(in));
  BANYAN_RETURN_IF_ERROR(in.Finish());
  return std::make_unique<Trie>(bench.target().vocab_size(), options, rule);
}

}  // namespace

DrafterRow TrieRow() {
  Keys<Options> keys;
  keys.Between("branch_length", &Options::branch_length, 1, kMostLength,
               "The tokens of a branch after its match.");
  keys.Between("max_match", &Options::max_match, 1, kMostMatch,
               "The most tokens that are matched.");
  keys.Between("nodes", &Options::nodes, 1, kMaxDraws,
               "The most nodes that are drafted.");
  keys.AtLeast(
      "max_output_nodes",
      [](Options& read) -> int& { return read.limits.output_nodes; }, 1,
      "The most nodes of one trie of outputs.");
  keys.Optional(
      "max_nodes", [](Options& read) -> int& { return read.limits.nodes; },
      "The most nodes of all tries of outputs together.");
  AddReset(keys, &Options::keep_outputs);
  keys.Described(SamplingKey());
  return {.name = "trie",
          .sentence =
              "PIA's lookahead: the most frequent continuations of the last "
              "tokens, in the prompt and in outputs.",
          .draw_kinds = EveryDrawKind(),
          .keys = keys.Rows(),
          .build = keys.ReadFor(Build),
          .examples = {"{}",
                       "{branch_length: 1, max_match: 1, nodes: 2,"
                       " sampling: {temperature: 0.5}}"}};
}

}  // namespace banyan
