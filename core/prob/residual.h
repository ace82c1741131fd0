// Residual: what is left of a target law while draws from proposals are judged.
//
// It starts as p. Each refused draw, made from q, leaves norm(pos(a * cur -
// q)), where cur is the residual so far, pos cuts negative entries to 0, norm
// divides by the sum, and a is 1 except in block and traversal verification.
//
// Cost. The row is not copied before the first refusal. A refusal takes two
// passes over a dense row, or time in the entries of q when q is sparse; if p
// is sparse it takes time in the entries of p and q.
#ifndef BANYAN_CORE_PROB_RESIDUAL_H_
#define BANYAN_CORE_PROB_RESIDUAL_H_

#include <vector>

#include "absl/types/span.h"
#include "core/base/token.h"
#include "core/base/weights.h"
#include "core/prob/distribution.h"

namespace banyan {

class Residual {
 public:
  // Requires p to have mass; it is taken as normalised.
  explicit Residual(const Distribution& p);

  // The current, normalised mass of a token.
  double Mass(TokenId token) const;

  // The sum S of pos(a * cur - q). Changes nothing. One pass.
  double Excess(const Distribution& q, double a = 1) const;
  // Replaces cur by norm(pos(a * cur - q)) and returns the sum S before
  // normalising. When S is 0 there is no such law: cur stays as it is.
  double Subtract(const Distribution& q, double a = 1);

  // To draw from cur: TokenAt(chance.Draw(weights(), ...)).
  Weights weights() const;
  TokenId TokenAt(int index) const { return start_.TokenAt(index); }

 private:
  absl::Span<const double> row() const;
  double ExcessOverRow(const Distribution& q, double a) const;
  double ExcessOverEntries(const Distribution& q, double a) const;
  void Own();  // copies the row, before the first change
  void SubtractRow(const Distribution& q, double a);
  void SubtractEntries(const Distribution& q, double a);

  Distribution start_;        // p; its entries index the row
  std::vector<double> left_;  // empty: the row is still p's
  double scale_;              // cur is scale_ times the row
};

}  // namespace banyan

#endif  // BANYAN_CORE_PROB_RESIDUAL_H_
