// Rows of logits: what may stand in one, and its largest numbers.
#ifndef BANYAN_CORE_PROB_LOGITS_H_
#define BANYAN_CORE_PROB_LOGITS_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/token.h"

namespace banyan {

struct TokenLogit {
  TokenId token;
  double logit;

  friend bool operator==(const TokenLogit&, const TokenLogit&) = default;
};

// An error that names the token and its logit, which is NaN or infinite.
absl::Status NoLogit(TokenId token, double logit);
// That a rule leaves no token.
absl::Status NoTokenLeft();
// NoLogit of the first such token, if there is one.
absl::Status CheckLogits(absl::Span<const double> logits);

// The same of a row that a model computed, where -infinity too is a sum that
// overflowed.
absl::Status CheckFinite(absl::Span<const float> logits);
// The same of the logits of some tokens, in their order.
absl::Status CheckFinite(absl::Span<const float> logits,
                         absl::Span<const TokenId> tokens);

// The natural logarithm of the sum of exp(logits), in double. -infinity if
// there is none above it.
double LogSumExp(absl::Span<const double> logits);

// The k largest logits, the largest first, ties broken towards the lower token
// id. A token at -infinity can never be emitted and is left out, so there may
// be fewer. Requires k >= 1; fails as CheckLogits.
absl::StatusOr<std::vector<TokenLogit>> BestLogits(
    absl::Span<const double> logits, int k);

}  // namespace banyan

#endif  // BANYAN_CORE_PROB_LOGITS_H_
