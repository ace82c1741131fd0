// Distribution: a probability distribution over the vocabulary, or part of one.
//
// A small immutable handle; copies share their masses. A dense row holds a mass
// per token, a sparse row an entry per token that may have mass. A one-hot row
// is sparse with one entry. The masses are not negative and may sum to less
// than 1: a proposal restricted to some tokens is not renormalised, because the
// verifiers need the mass each token was really drawn with.
//
// Requirements (token in range, masses finite and not negative) are checked.
#ifndef BANYAN_CORE_PROB_DISTRIBUTION_H_
#define BANYAN_CORE_PROB_DISTRIBUTION_H_

#include <memory>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "core/base/draw_math.h"
#include "core/base/number_rows.h"
#include "core/base/token.h"

namespace banyan {

class Distribution {
 public:
  Distribution() = default;  // no vocabulary, no mass
  static Distribution Dense(std::vector<double> masses);
  // `tokens` ascends strictly; `masses` stands beside it.
  static Distribution Sparse(int vocab_size, std::vector<TokenId> tokens,
                             std::vector<double> masses);
  static Distribution OneHot(int vocab_size, TokenId token);

  int vocab_size() const { return vocab_size_; }
  // The sum of all masses.
  double total() const { return counts_.total(); }
  // True if no token has mass: nothing can be drawn.
  bool empty() const { return counts_.empty(); }
  // Constant time, or logarithmic in the entries of a sparse row.
  double Mass(TokenId token) const;
  // The token of largest mass, the lowest id on a tie. Requires mass.
  TokenId Argmax() const;
  // Calls f(token, mass) in order of id for every token of positive mass.
  void ForEach(absl::FunctionRef<void(TokenId, double)> f) const;

  // To draw: TokenAt(chance.Draw(weights(), ...)). The weights are masses up to
  // a common factor.
  Weights weights() const { return {masses(), left_out_, tokens()}; }
  TokenId TokenAt(int index) const;

  // This distribution given that `token` is not drawn: the other tokens keep
  // their ratios and gain its mass. Shares storage. Takes time in the tokens
  // left out before, and a pass over the row whenever a thousandth is left of
  // the mass at the last such pass. If no other token has mass the result is
  // empty; mass whose reciprocal overflows (2e-308) counts as none.
  Distribution Without(TokenId token) const;
  // The part with mass at least `threshold` per token, not renormalised.
  Distribution KeepAtLeast(double threshold) const;
  // The same ratios, summing to 1. Requires mass, and a total whose reciprocal
  // does not overflow.
  Distribution Normalized() const;

  // The stored row: one mass per token if dense, one per entry if not. Entry i
  // stands for TokenAt(i), counts factor() times its value, and not at all if
  // its index is in left_out(). For loops over whole rows.
  bool dense() const { return tokens_ == nullptr; }
  absl::Span<const double> masses() const;
  absl::Span<const TokenId> tokens() const;  // none if dense
  double factor() const { return counts_.scale; }
  absl::Span<const int> left_out() const { return left_out_; }
  int IndexOf(TokenId token) const;  // -1: no entry

 private:
  int vocab_size_ = 0;
  std::shared_ptr<const std::vector<TokenId>> tokens_;  // null if dense
  std::shared_ptr<const std::vector<double>> masses_;
  absl::InlinedVector<int, 2> left_out_;
  LawScale counts_;
};

// sum over x of min(p(x), q(x)): the acceptance of one draw from q (source:
// Leviathan et al., Theorem 3.5). Requires one vocabulary.
double Overlap(const Distribution& p, const Distribution& q);

// RowSource: gives a verifier the target distributions, by node of the draft
// tree.
class RowSource {
 public:
  virtual ~RowSource() = default;

  // Returns the target distribution of the token after `node`, as plain
  // decoding uses it: normalised, after temperature, truncation, penalties and
  // masks. The first call computes the row; later calls return the same row.
  virtual const Distribution& Row(int node) = 0;
};

}  // namespace banyan

#endif  // BANYAN_CORE_PROB_DISTRIBUTION_H_
