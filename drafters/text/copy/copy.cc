#include "drafters/text/copy/copy.h"

#include <algorithm>
#include <cstddef>

#include "core/base/params.h"
#include "core/base/token.h"
#include "core/model/context.h"
#include "drafters/propose.h"
#include "drafters/rows.h"
#include "drafters/text/recent_grams.h"
#include "drafters/workbench.h"
#include "tree/draft_tree.h"
#include "tree/trunk_tree.h"
#include "tree/verdict.h"

namespace banyan {

namespace {

// Each length costs a look-up a token, and longer matches say little more.

constexpr int kMostSpan = 1024;

class CopySession : public QuietSession {
 public:
  CopySession(int vocab_size, const CopyOptions& options)
      : QuietSession(SessionFacets{}),
        options_(options),
        grams_({.vocab_size = vocab_size,
                .shortest = options.min_match,
                .longest = options.max_match,
                .history = options.history}) {}

  absl::Status Begin(const Context& context) override {
    grams_.Follow(context.tokens);
    return absl::OkStatus();
  }
  std::optional<double> Promise(const Context& context) const override;
  absl::Status Observe(const Context& context,
                       const RoundOutcome& /*outcome*/) override {
    grams_.Follow(context.tokens);
    return absl::OkStatus();
  }

  std::vector<TokenId> Candidates(absl::Span<const TokenId> text) const;

 private:
  CopyOptions options_;
  RecentGrams grams_;
};

// Best first. A token's match is longest where it is met first.
std::vector<TokenId> CopySession::Candidates(
    absl::Span<const TokenId> text) const {
  std::vector<TokenId> ranked;
  const int length = static_cast<int>(text.size());
  for (int size = std::min(options_.max_match, length);
       size >= options_.min_match; --size) {
    const absl::Span<const Continuation> row =
        grams_.After(text.last(static_cast<std::size_t>(size)));
    std::vector<Continuation> latest(row.begin(), row.end());
    std::sort(latest.begin(), latest.end(),
              [](const Continuation& a, const Continuation& b) {
                return a.last_seen > b.last_seen;  // no two are equal
              });
    for (const Continuation& seen : latest) {
      if (ranked.size() == kMostCandidates) return ranked;
      if (std::find(ranked.begin(), ranked.end(), seen.token) == ranked.end())
        ranked.push_back(seen.token);
    }
  }
  return ranked;
}

std::optional<double> CopySession::Promise(const Context& context) const {
  const std::vector<TokenId> text = LastTokens(context, {}, options_.max_match);
  const absl::Span<const TokenId> all = text;
  for (std::size_t size = all.size();
       size >= static_cast<std::size_t>(options_.min_match); --size)
    if (!grams_.After(all.last(size)).empty()) return static_cast<double>(size);
  return 0;
}

}  // namespace

Copy::Copy(int vocab_size, const CopyOptions& options)
    : Drafter(
          {.draw_kinds = {DrawKind::kDeterministic}, .proposes_ahead = true},
          /*carried=*/nullptr),
      vocab_size_(vocab_size),
      options_(options) {}

std::unique_ptr<DraftSession> Copy::NewSession() const {
  return std::make_unique<CopySession>(vocab_size_, options_);
}

absl::StatusOr<std::vector<Proposals>> Copy::Propose(
    absl::Span<const DraftRequest> requests) {
  return ProposeEach(
      requests,
      [this](const DraftRequest& request, int /*node*/,
             absl::Span<const TokenId> path) -> absl::StatusOr<Proposal> {
        return Halving(vocab_size_,
                       SessionOf<CopySession>(request).Candidates(LastTokens(
                           *request.context, path, options_.max_match)));
      });
}

namespace {

struct CopyKeys : CopyOptions {
  bool first = false;
  int span = 10;  // the published program's
};

BuiltDrafter BuildCopy(ParamsReader& in, const CopyKeys& options,
                       Workbench& bench) {
  EnsureMatchLengths(in, options.min_match, options.max_match);
  in.Ensure(options.history == 0 || options.history > options.max_match,
            "history",
            absl::StrCat("must be more than max_match, which is ",
                         options.max_match, ", or 0 for all"));
  BANYAN_RETURN_IF_ERROR(in.Finish());
  const int vocab_size = bench.target().vocab_size();
  if (options.first)
    return std::make_unique<FirstCopy>(vocab_size, options, options.span);
  return std::make_unique<Copy>(vocab_size, options);
}

}  // namespace

DrafterRow CopyRow() {
  Keys<CopyKeys> keys;
  AddMatchLengths(keys);
  keys.Optional("history", &CopyKeys::history,
                "The latest tokens that are searched; 0: all.");
  keys.Optional("first", &CopyKeys::first,
                "Copies from the earliest match of the text's end instead of "
                "the latest at each node.");
  keys.Between("span", &CopyKeys::span, 1, kMostSpan,
               "The tokens that are copied, with `first`.")
      .OnlyWith("first", "true",
                "is the length of a copy from the first match: `first` is not "
                "set");
  return {.name = "copy",
          .sentence =
              "Prompt lookup: copies what followed the longest earlier match "
              "of the last tokens.",
          .draw_kinds = {DrawKind::kDeterministic},
          .keys = keys.Rows(),
          .build = keys.ReadFor(BuildCopy),
          .examples = {"{}", "{min_match: 1, max_match: 3, history: 5}",
                       "{first: true, min_match: 1, max_match: 3, span: 2}"}};
}

namespace {

class FirstCopySession : public PlanSession {
 public:
  FirstCopySession(const CopyOptions& options, int span)
      : options_(options), span_(span) {}

 protected:
  absl::Status Follow(const Context& context) override;
  DraftPlan Plan(const Context& context) override;

 private:
  CopyOptions options_;
  int span_;
  std::vector<TokenId> copied_;
};

absl::Status FirstCopySession::Follow(const Context& context) {
  absl::Span<const TokenId> text = context.tokens;
  const auto history = static_cast<std::size_t>(options_.history);
  if (history > 0 && text.size() > history) text = text.last(history);
  copied_.clear();
  for (int size = options_.max_match; size >= options_.min_match; --size) {
    const auto match = static_cast<std::size_t>(size);
    if (text.size() <= match) continue;
    const absl::Span<const TokenId> last = text.last(match);
    // Not the last tokens themselves, which nothing follows.
    const auto end = text.end() - 1;
    const auto found = std::search(text.begin(), end, last.begin(), last.end());
    if (found == end) continue;
    const auto after =
        text.subspan(static_cast<std::size_t>(found - text.begin()) + match,
                     static_cast<std::size_t>(span_));
    copied_.assign(after.begin(), after.end());
    break;
  }
  return absl::OkStatus();
}

DraftPlan FirstCopySession::Plan(const Context& /*context*/) {
  return DraftPlan::Chain(copied_);
}

}  // namespace

std::unique_ptr<DraftSession> FirstCopy::NewSession() const {
  return std::make_unique<FirstCopySession>(options_, span_);
}

}  // namespace banyan
