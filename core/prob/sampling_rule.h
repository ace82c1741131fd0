// SamplingRule: turns logits into the distribution that a token is drawn from.
// Plain decoding, every node of a draft tree and drafters use this function.
#ifndef BANYAN_CORE_PROB_SAMPLING_RULE_H_
#define BANYAN_CORE_PROB_SAMPLING_RULE_H_

#include <vector>

#include "core/base/common.h"
#include "core/base/params.h"
#include "core/base/token.h"
#include "core/prob/distribution.h"

namespace banyan {

// Rows of logits: what may stand in one, and its largest numbers.
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

// Applied in this order. Ties are broken towards the lower token id.
struct SamplingOptions {
  // Divides the logits of every token already in the history, or multiplies
  // them if they are negative; positive, 1 is off.
  double repetition_penalty = 1;
  // Tokens that may never be emitted.
  std::vector<TokenId> banned;
  // Not negative. 0: all mass on the largest logit; what follows then changes
  // nothing.
  double temperature = 1;
  // The k largest, or all if there are fewer; 0 is off.
  int top_k = 0;
  // The fewest largest whose mass, renormalised after top_k, reaches top_p, in
  // (0, 1]; 1 is off.
  double top_p = 1;
  // Those with at least min_p times the largest mass, in [0, 1]; 0 is off.
  double min_p = 0;
};

class SamplingRule {
 public:
  // Ends the program on options out of their ranges.
  explicit SamplingRule(SamplingOptions options = {});
  // Reads `temperature`, `top_k`, ... from a section; an absent key keeps its
  // default.
  static absl::StatusOr<SamplingRule> FromParams(const Params& section);

  // InvalidArgument, "sampling: banned: ...", if a token that it bans is none
  // of the target's `vocab_size`.
  absl::Status CheckFits(int vocab_size) const;

  const SamplingOptions& options() const { return options_; }
  bool greedy() const { return options_.temperature == 0; }
  // Whether distributions are lists of the tokens left, not whole rows.
  bool leaves_out() const {
    return greedy() || options_.top_k != 0 || options_.top_p != 1 ||
           options_.min_p != 0;
  }

  // Returns the distribution after `history` followed by `path`, the node's
  // ancestors and the node itself. Sparse if the rule truncates or is greedy.
  // Tokens outside the vocabulary (a begin token, a ban) are ignored. Fails,
  // naming the reason, if a logit is NaN or +infinity, if the penalty makes one
  // +infinity, or if no token is left.
  absl::StatusOr<Distribution> Apply(absl::Span<const double> logits,
                                     absl::Span<const TokenId> history,
                                     absl::Span<const TokenId> path) const;
  // Bit-identical to ApplyTo on a full row of `vocab_size` logits that are
  // -infinity outside `tokens`. `tokens` ascend; logits[i] belongs to
  // tokens[i].
  absl::StatusOr<Distribution> ApplyToSome(
      std::vector<double> logits, absl::Span<const TokenId> tokens,
      int vocab_size, absl::Span<const TokenId> history,
      absl::Span<const TokenId> path) const;
  // The same of a row that it may use up, which saves a copy.
  absl::StatusOr<Distribution> ApplyTo(std::vector<double> logits,
                                       absl::Span<const TokenId> history,
                                       absl::Span<const TokenId> path) const;

 private:
  SamplingOptions options_;
};

}  // namespace banyan

#endif  // BANYAN_CORE_PROB_SAMPLING_RULE_H_
