#include "drafters/text/count_rule.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/status_macros.h"
#include "core/base/token.h"
#include "core/prob/distribution.h"
#include "core/prob/sampling_rule.h"
#include "tree/draft_tree.h"

namespace banyan {
namespace {

SamplingRule WithoutBans(SamplingOptions options) {
  options.banned.clear();
  return SamplingRule(std::move(options));
}

bool KeepsCounts(const SamplingOptions& options) {
  return options.repetition_penalty == 1 && options.temperature == 1 &&
         options.top_k == 0 && options.top_p == 1 && options.min_p == 0;
}

Distribution ToDistribution(CountRow counts) {
  return Distribution::Sparse(counts.vocab_size, std::move(counts.tokens),
                              std::move(counts.values));
}

// Where the tokens of `text` stand among the counted ones, as far as they do.
std::vector<TokenId> Places(const CountRow& counts,
                            absl::Span<const TokenId> text) {
  std::vector<TokenId> places;
  for (TokenId token : text) {
    const auto at =
        std::lower_bound(counts.tokens.begin(), counts.tokens.end(), token);
    if (at != counts.tokens.end() && *at == token)
      places.push_back(static_cast<TokenId>(at - counts.tokens.begin()));
  }
  return places;
}

std::vector<double> LogShares(const std::vector<double>& values) {
  const double total = std::accumulate(values.begin(), values.end(), 0.0);
  std::vector<double> logits;
  logits.reserve(values.size());
  for (double value : values) logits.push_back(std::log(value / total));
  return logits;
}

}  // namespace

CountRule::CountRule(const SamplingRule& rule)
    : rule_(WithoutBans(rule.options())),
      banned_(rule.options().banned),
      keeps_counts_(KeepsCounts(rule.options())) {}

void CountRule::LeaveOutBanned(CountRow& counts) const {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < counts.tokens.size(); ++i) {
    if (std::find(banned_.begin(), banned_.end(), counts.tokens[i]) !=
        banned_.end())
      continue;
    counts.tokens[kept] = counts.tokens[i];
    counts.values[kept++] = counts.values[i];
  }
  counts.tokens.resize(kept);
  counts.values.resize(kept);
}

absl::StatusOr<Proposal> CountRule::Apply(
    DrawKind draw_kind, CountRow counts, absl::Span<const TokenId> history,
    absl::Span<const TokenId> path) const {
  if (!banned_.empty()) LeaveOutBanned(counts);
  const bool ranked = draw_kind == DrawKind::kDeterministic && !keeps_counts_;
  if (ranked || keeps_counts_ || counts.tokens.empty())
    return Proposal{ToDistribution(std::move(counts)), ranked};
  const int vocab_size = counts.vocab_size;
  if (greedy() && !reads_text()) {  // without a logarithm a token
    const Distribution law_of_counts = ToDistribution(std::move(counts));
    return Proposal{Distribution::OneHot(vocab_size, law_of_counts.Argmax())};
  }
  // The rule sees the counted tokens alone, numbered from 0.
  std::vector<TokenId> seen;
  std::vector<TokenId> on_path;
  if (reads_text()) {
    seen = Places(counts, history);
    on_path = Places(counts, path);
  }
  BANYAN_ASSIGN_OR_RETURN(const Distribution numbered,
                          rule_.Apply(LogShares(counts.values), seen, on_path));
  CountRow result = {.vocab_size = vocab_size};
  numbered.ForEach([&](TokenId number, double mass) {
    result.tokens.push_back(counts.tokens[static_cast<std::size_t>(number)]);
    result.values.push_back(mass);
  });
  return Proposal{ToDistribution(std::move(result))};
}

}  // namespace banyan
