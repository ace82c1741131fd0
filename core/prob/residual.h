// Residual: what is left of a target distribution while draws from proposals
// are judged.
//
// The residual starts as norm(p). Each refused draw, made from q, leaves
// norm(pos(a * cur - q)), where cur is the residual so far, pos cuts negative
// entries to 0, norm divides by the sum, and a is 1 except in block and
// traversal verification.
//
// Requires one vocabulary for p and every q, and an a that is finite and not
// negative.
//
// Cost. The row is not copied before the first refusal. A refusal takes two
// passes over a dense row, or time in the entries of q when q is sparse (and a
// pass each time a thousandth is left of what was there at the last); if p is
// sparse it takes time in the entries of p and q.
#ifndef BANYAN_CORE_PROB_RESIDUAL_H_
#define BANYAN_CORE_PROB_RESIDUAL_H_

#include <vector>

#include "absl/types/span.h"
#include "core/base/draw_math.h"
#include "core/base/number_rows.h"
#include "core/base/token.h"
#include "core/prob/distribution.h"

namespace banyan {

class Residual {
 public:
  // Requires p to have mass.
  explicit Residual(const Distribution& p);

  // The current, normalised mass of a token.
  double Mass(TokenId token) const;

  // The sum S of pos(a * cur - q); 0 if so little that 1 / S overflows
  // (2e-308). Changes nothing. One pass.
  double Excess(const Distribution& q, double a = 1) const;
  // Replaces cur by norm(pos(a * cur - q)) and returns the sum S before
  // normalising. When S is 0, nothing can be normalised: cur stays as it is.
  double Subtract(const Distribution& q, double a = 1);

  // To draw from cur: TokenAt(chance.Draw(weights(), ...)).
  Weights weights() const;
  TokenId TokenAt(int index) const { return start_.TokenAt(index); }

 private:
  absl::Span<const double> row() const;
  double ExcessOverRow(const Distribution& q, double a) const;
  double ExcessOverEntries(const Distribution& q, double a) const;
  void Own();  // copies the row, before the first change
  // The whole row, which then sums to 1.
  void SubtractRow(const Distribution& q, double a, double sum);
  // The entries of q alone, the row being dense.
  void SubtractEntries(const Distribution& q, double a, double sum);
  Distribution start_;        // p; its entries index the row
  std::vector<double> left_;  // empty: the row is still p's
  ResidualScale counts_;      // of cur, in numbers of the row
};

}  // namespace banyan

#endif  // BANYAN_CORE_PROB_RESIDUAL_H_
