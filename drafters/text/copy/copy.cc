#include "drafters/text/copy/copy.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "core/base/params.h"
#include "core/base/status_macros.h"
#include "core/base/token.h"
#include "core/model/context.h"
#include "core/prob/distribution.h"
#include "drafters/drafter.h"
#include "drafters/halving.h"
#include "drafters/propose_each.h"
#include "drafters/text/copy/first_copy.h"
#include "drafters/text/recent_grams.h"
#include "drafters/workbench.h"
#include "tree/draft_tree.h"
#include "tree/trunk_tree.h"
#include "tree/verdict.h"

namespace banyan {
namespace {

// Each length costs a look-up a token, and longer matches say little more.
constexpr int kMostMatch = 64;

constexpr int kSpan = 10;  // the published program's
constexpr int kMostSpan = 1024;

}  // namespace

absl::StatusOr<std::unique_ptr<Drafter>> Copy::Build(ParamsReader& in,
                                                     Workbench& bench) {
  CopyOptions options;
  in.Optional("max_match", options.max_match);
  in.Ensure(options.max_match >= 1 && options.max_match <= kMostMatch,
            "max_match", absl::StrCat("must lie between 1 and ", kMostMatch));
  in.Optional("min_match", options.min_match);
  in.Ensure(options.min_match >= 1 && options.min_match <= options.max_match,
            "min_match",
            absl::StrCat("must lie between 1 and max_match, which is ",
                         options.max_match));
  in.Optional("history", options.history);
  in.Ensure(options.history == 0 || options.history > options.max_match,
            "history",
            absl::StrCat("must be more than max_match, which is ",
                         options.max_match, ", or 0 for all"));
  bool first = false;
  int span = kSpan;
  in.Optional("first", first);
  const bool has_span = in.Optional("span", span);
  in.Ensure(first || !has_span, "span",
            "is the length of a copy from the first match: `first` is not set");
  in.Ensure(span >= 1 && span <= kMostSpan, "span",
            absl::StrCat("must lie between 1 and ", kMostSpan));
  BANYAN_RETURN_IF_ERROR(in.Finish());
  const int vocab_size = bench.target().vocab_size();
  if (first) return std::make_unique<FirstCopy>(vocab_size, options, span);
  return std::make_unique<Copy>(vocab_size, options);
}

Copy::Copy(int vocab_size, const CopyOptions& options)
    : vocab_size_(vocab_size),
      options_(options),
      grams_({.vocab_size = vocab_size,
              .shortest = options.min_match,
              .longest = options.max_match,
              .history = options.history}) {}

std::vector<DraftLaw> Copy::laws() const { return {DraftLaw::kDeterministic}; }

absl::Status Copy::Begin(const Context& context) {
  grams_.Clear();
  grams_.Follow(context.tokens);
  return absl::OkStatus();
}

// Best first. A token's match is longest where it is met first.
std::vector<TokenId> Copy::Candidates(absl::Span<const TokenId> text) const {
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

std::optional<double> Copy::Promise(const Context& context) const {
  const std::vector<TokenId> text = LastTokens(context, {}, options_.max_match);
  const absl::Span<const TokenId> all = text;
  for (std::size_t size = all.size();
       size >= static_cast<std::size_t>(options_.min_match); --size)
    if (!grams_.After(all.last(size)).empty()) return static_cast<double>(size);
  return 0;
}

absl::StatusOr<std::vector<Distribution>> Copy::Propose(
    const Context& context, const TrunkTree& tree,
    absl::Span<const int> nodes) {
  return ProposeEach(
      tree, nodes,
      [&](int /*node*/,
          const std::vector<TokenId>& path) -> absl::StatusOr<Distribution> {
        return Halving(vocab_size_, Candidates(LastTokens(context, path,
                                                          options_.max_match)));
      });
}

absl::Status Copy::Observe(const Context& context,
                           const RoundOutcome& /*outcome*/) {
  grams_.Follow(context.tokens);
  return absl::OkStatus();
}

}  // namespace banyan
