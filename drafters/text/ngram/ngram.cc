#include "drafters/text/ngram/ngram.h"

#include <algorithm>
#include <cstddef>

#include "core/base/params.h"
#include "core/model/context.h"
#include "drafters/propose.h"
#include "drafters/rows.h"
#include "drafters/text/carried_texts.h"
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

class NGramSession : public QuietSession {
 public:
  // `grams`: of earlier prompts.
  NGramSession(const NGramOptions& options, const RecentGrams& grams)
      : QuietSession(SessionFacets{}), options_(options), grams_(grams) {}

  absl::Status Begin(const Context& context) override {
    grams_.BeginText();
    grams_.Follow(context.tokens);
    return absl::OkStatus();
  }
  absl::Status Observe(const Context& context,
                       const RoundOutcome& /*outcome*/) override {
    grams_.Follow(context.tokens);
    return absl::OkStatus();
  }

  absl::Span<const Continuation> AfterLongest(
      absl::Span<const TokenId> text) const;
  CountRow ToCounts(absl::Span<const Continuation> row, int vocab_size,
                    bool by_recency) const;

 private:
  NGramOptions options_;
  RecentGrams grams_;
};

// Backs off from the longest context to the shortest.
absl::Span<const Continuation> NGramSession::AfterLongest(
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

CountRow NGramSession::ToCounts(absl::Span<const Continuation> row,
                                int vocab_size, bool by_recency) const {
  CountRow counts = {.vocab_size = vocab_size};
  counts.tokens.reserve(row.size());
  counts.values.reserve(row.size());
  for (const Continuation& seen : row) {
    counts.tokens.push_back(seen.token);
    counts.values.push_back(
        seen.count + (by_recency ? kRecencyWeight * grams_.Recency(seen) : 0));
  }
  return counts;
}

}  // namespace

NGram::NGram(int vocab_size, const NGramOptions& options,
             const SamplingRule& rule)
    : Drafter({.draw_kinds = EveryDrawKind(), .proposes_ahead = true},
              options.keep_counts ? this : nullptr),
      vocab_size_(vocab_size),
      options_(options),
      rule_(rule),
      grams_({.vocab_size = vocab_size,
              .shortest = options.min_order - 1,
              .longest = options.max_order - 1,
              .history = options.history}) {}

std::unique_ptr<DraftSession> NGram::NewSession() const {
  return std::make_unique<NGramSession>(options_, grams_);
}

absl::Status NGram::Absorb(absl::Span<const TokenId> text,
                           absl::string_view learnt) {
  BANYAN_RETURN_IF_ERROR(CheckLesson(text, learnt));
  grams_.BeginText();
  grams_.Follow(text);
  return absl::OkStatus();
}

absl::Status NGram::CheckLesson(absl::Span<const TokenId> /*text*/,
                                absl::string_view learnt) const {
  if (learnt.empty()) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(
      learnt.size(), " bytes, expected none: it learns from the text alone"));
}

std::vector<Carried> NGram::holdings() const {
  return {{.unit = "tokens", .held = grams_.held(), .dropped = grams_.left()}};
}

absl::StatusOr<std::vector<Proposals>> NGram::Propose(
    absl::Span<const DraftRequest> requests) {
  return ProposeEach(requests, [this](const DraftRequest& request, int /*node*/,
                                      absl::Span<const TokenId> path) {
    const DrawKind draw_kind = request.tree->draw_kind();
    const bool ranked = draw_kind == DrawKind::kDeterministic || rule_.greedy();
    const std::vector<TokenId> text =
        LastTokens(*request.context, path, options_.max_order - 1);
    const auto& own = SessionOf<NGramSession>(request);
    return rule_.Apply(
        draw_kind, own.ToCounts(own.AfterLongest(text), vocab_size_, ranked),
        request.context->tokens, path);
  });
}

namespace {

BuiltDrafter BuildNGram(ParamsReader& in, const NGramOptions& options,
                        Workbench& bench) {
  in.Ensure(options.min_order >= 2 && options.min_order <= options.max_order,
            "min_order",
            absl::StrCat("must lie between 2 and max_order, which is ",
                         options.max_order));
  in.Ensure(options.history == 0 || options.history >= options.max_order,
            "history",
            absl::StrCat("must hold max_order tokens, which is ",
                         options.max_order, ", or be 0 for all"));
  BANYAN_ASSIGN_OR_RETURN(const SamplingRule rule, bench.TakeRule(in));
  BANYAN_RETURN_IF_ERROR(in.Finish());
  return std::make_unique<NGram>(bench.target().vocab_size(), options, rule);
}

}  // namespace

DrafterRow NGramRow() {
  Keys<NGramOptions> keys;
  keys.Between("max_order", &NGramOptions::max_order, 2, kMostOrder,
               "The longest gram that is counted, in tokens.");
  keys.Optional("min_order", &NGramOptions::min_order,
                "The shortest gram to back off to, at least 2.");
  keys.Optional("history", &NGramOptions::history,
                "The latest tokens that are counted; 0: all.");
  AddReset(keys, &NGramOptions::keep_counts);
  keys.Described(SamplingKey());
  return {
      .name = "ngram",
      .sentence =
          "N-gram counts of the text so far: what followed its last tokens.",
      .draw_kinds = EveryDrawKind(),
      .keys = keys.Rows(),
      .build = keys.ReadFor(BuildNGram),
      .examples = {"{}", "{max_order: 3, history: 4}",
                   "{max_order: 2, history: 0,"
                   " sampling: {temperature: 0.5}}"}};
}

}  // namespace banyan
