#include "drafters/text/ngram/ngram.h"

#include <algorithm>
#include <cstddef>
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
#include "core/prob/distribution.h"
#include "core/prob/sampling_rule.h"
#include "drafters/drafter.h"
#include "drafters/propose_each.h"
#include "drafters/text/count_rule.h"
#include "drafters/text/recent_grams.h"
#include "drafters/workbench.h"
#include "tree/draft_tree.h"
#include "tree/trunk_tree.h"
#include "tree/verdict.h"

namespace banyan {
namespace {

// Longer contexts are seldom seen twice, and each order costs a look-up a
// token.
constexpr int kMostOrder = 8;

// What the latest occurrence adds to a count: enough to tell equal counts
// apart (in a double, up to histories of two million tokens), too little to
// change a path's worth.
constexpr double kRecencyWeight = 1.0 / 1024;

}  // namespace

absl::StatusOr<std::unique_ptr<Drafter>> NGram::Build(ParamsReader& in,
                                                      Workbench& bench) {
  NGramOptions options;
  std::string reset = "prompt";
  in.Optional("max_order", options.max_order);
  in.Ensure(options.max_order >= 2 && options.max_order <= kMostOrder,
            "max_order", absl::StrCat("must lie between 2 and ", kMostOrder));
  in.Optional("min_order", options.min_order);
  in.Ensure(options.min_order >= 2 && options.min_order <= options.max_order,
            "min_order",
            absl::StrCat("must lie between 2 and max_order, which is ",
                         options.max_order));
  in.Optional("history", options.history);
  in.Ensure(options.history == 0 || options.history >= options.max_order,
            "history",
            absl::StrCat("must hold max_order tokens, which is ",
                         options.max_order, ", or be 0 for all"));
  in.Optional("reset", reset);
  in.Ensure(reset == "prompt" || reset == "never", "reset",
            "must be prompt or never");
  options.keep_counts = reset == "never";
  BANYAN_ASSIGN_OR_RETURN(const SamplingRule rule, bench.TakeRule(in));
  BANYAN_RETURN_IF_ERROR(in.Finish());
  return std::make_unique<NGram>(bench.target().vocab_size(), options, rule);
}

NGram::NGram(int vocab_size, const NGramOptions& options,
             const SamplingRule& rule)
    : vocab_size_(vocab_size),
      options_(options),
      rule_(rule),
      grams_({.vocab_size = vocab_size,
              .shortest = options.min_order - 1,
              .longest = options.max_order - 1,
              .history = options.history}) {}

std::vector<DraftLaw> NGram::laws() const {
  return {kEveryLaw.begin(), kEveryLaw.end()};
}

absl::Status NGram::Begin(const Context& context) {
  if (options_.keep_counts)
    grams_.BeginText();
  else
    grams_.Clear();
  grams_.Follow(context.tokens);
  return absl::OkStatus();
}

absl::Status NGram::Absorb(absl::Span<const TokenId> text,
                           absl::string_view /*learnt*/) {
  if (!options_.keep_counts) return absl::OkStatus();
  grams_.BeginText();
  grams_.Follow(text);
  return absl::OkStatus();
}

std::vector<Carried> NGram::carried() const {
  if (!options_.keep_counts) return {};
  return {{.unit = "tokens", .held = grams_.held(), .dropped = grams_.left()}};
}

// Backs off from the longest context to the shortest.
absl::Span<const Continuation> NGram::AfterLongest(
    absl::Span<const TokenId> text) const {
  const int length = static_cast<int>(text.size());
  for (int size = std::min(options_.max_order - 1, length);
       size >= options_.min_order - 1; --size) {
    const absl::Span<const Continuation> row =
        grams_.After(text.last(static_cast<std::size_t>(size)));
    if (!row.empty()) return row;
  }
  return {};
}

CountRow NGram::ToCounts(absl::Span<const Continuation> row,
                         bool by_recency) const {
  CountRow counts = {.vocab_size = vocab_size_};
  counts.tokens.reserve(row.size());
  counts.values.reserve(row.size());
  for (const Continuation& seen : row) {
    counts.tokens.push_back(seen.token);
    counts.values.push_back(
        seen.count + (by_recency ? kRecencyWeight * grams_.Recency(seen) : 0));
  }
  return counts;
}

absl::StatusOr<std::vector<Distribution>> NGram::Propose(
    const Context& context, const TrunkTree& tree,
    absl::Span<const int> nodes) {
  const bool ranked = tree.law() == DraftLaw::kDeterministic || rule_.greedy();
  return ProposeEach(
      tree, nodes, [&](int /*node*/, const std::vector<TokenId>& path) {
        const std::vector<TokenId> text =
            LastTokens(context, path, options_.max_order - 1);
        return rule_.Apply(tree.law(), ToCounts(AfterLongest(text), ranked),
                           context.tokens, path);
      });
}

absl::Status NGram::Observe(const Context& context,
                            const RoundOutcome& /*outcome*/) {
  grams_.Follow(context.tokens);
  return absl::OkStatus();
}

}  // namespace banyan
