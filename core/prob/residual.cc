#include "core/prob/residual.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "core/base/check.h"

namespace banyan {
namespace {

// max(x_scale * x - y_scale * y, 0): the excess of x over y at one token.
double ExcessAt(double x_scale, double x, double y_scale, double y) {
  return std::max(x_scale * x - y_scale * y, 0.0);
}

bool BothDense(const Distribution& p, const Distribution& q) {
  return p.dense() && q.dense();
}

}  // namespace

Residual::Residual(const Distribution& p)
    : start_(p), counts_{.scale = p.factor() / p.total()} {
  Check(!p.empty(), "a target distribution without mass");
  if (!start_.left_out().empty()) {
    Own();
    for (int index : start_.left_out())
      left_[static_cast<std::size_t>(index)] = 0;
  }
}

absl::Span<const double> Residual::row() const {
  return left_.empty() ? start_.masses() : absl::MakeConstSpan(left_);
}

double Residual::Mass(TokenId token) const {
  const int index = start_.IndexOf(token);
  return index < 0 ? 0 : counts_.scale * row()[static_cast<std::size_t>(index)];
}

Weights Residual::weights() const { return {row(), {}, start_.tokens()}; }

double Residual::Excess(const Distribution& q, double a) const {
  Check(q.vocab_size() == start_.vocab_size(),
        "a proposal over another vocabulary than the target distribution");
  Check(a >= 0 && std::isfinite(a), "a factor is negative or not finite");
  const double sum =
      BothDense(start_, q) ? ExcessOverRow(q, a) : ExcessOverEntries(q, a);
  return sum < kNoMass ? 0 : sum;
}

double Residual::Subtract(const Distribution& q, double a) {
  const double sum = Excess(q, a);
  if (sum == 0) return 0;
  Own();
  if (start_.dense() && !q.dense() && counts_.Trusts(sum, a))
    SubtractEntries(q, a, sum);
  else
    SubtractRow(q, a, sum);
  return sum;
}

double Residual::ExcessOverRow(const Distribution& q, double a) const {
  const double own = a * counts_.scale;
  const double* x = row().data();
  const double theirs = q.factor();
  const auto excess = [=](const double* y) {
    return [=](std::size_t i) { return ExcessAt(own, x[i], theirs, y[i]); };
  };
  if (q.left_out().empty())
    return SumInLanes(row().size(), excess(q.masses().data()));
  // What q no longer draws takes nothing: its numbers count 0.
  std::vector<double> masses(q.masses().begin(), q.masses().end());
  for (int index : q.left_out()) masses[static_cast<std::size_t>(index)] = 0;
  return SumInLanes(row().size(), excess(masses.data()));
}

double Residual::ExcessOverEntries(const Distribution& q, double a) const {
  // pos(x - y) = x - min(x, y), and cur sums to 1: only q's entries matter, as
  // long as the difference keeps its digits.
  if (start_.dense()) {
    SparseSum covered;
    q.ForEach([&](TokenId token, double mass) {
      covered.Add(static_cast<std::size_t>(token),
                  std::min(a * Mass(token), mass));
    });
    const double sum = a - covered.Total();
    if (counts_.Trusts(sum, a)) return sum;
  }
  SparseSum sum;
  const double own = a * counts_.scale;
  for (int i = 0; i < static_cast<int>(row().size()); ++i) {
    const TokenId token = TokenAt(i);
    sum.Add(
        static_cast<std::size_t>(token),
        ExcessAt(own, row()[static_cast<std::size_t>(i)], 1, q.Mass(token)));
  }
  return sum.Total();
}

void Residual::Own() {
  if (left_.empty())
    left_.assign(start_.masses().begin(), start_.masses().end());
}

// Rounds each term as the sum did, so that they sum to 1 even if the sum is
// itself but rounding.
void Residual::SubtractRow(const Distribution& q, double a, double sum) {
  const double own = a * counts_.scale;
  const double norm = 1 / sum;
  if (!BothDense(start_, q)) {
    for (int i = 0; i < static_cast<int>(left_.size()); ++i) {
      double& left = left_[static_cast<std::size_t>(i)];
      left = norm * ExcessAt(own, left, 1, q.Mass(TokenAt(i)));
    }
  } else {
    std::vector<double> kept;  // tokens q cannot draw lose nothing
    for (int index : q.left_out())
      kept.push_back(norm * (own * left_[static_cast<std::size_t>(index)]));
    const double theirs = q.factor();
    // Pointers for the reason that core/base/draw_math.h gives.
    const double* masses = q.masses().data();
    double* left = left_.data();
    for (std::size_t i = 0; i < left_.size(); ++i)
      left[i] = norm * ExcessAt(own, left[i], theirs, masses[i]);
    for (std::size_t k = 0; k < kept.size(); ++k)
      left_[static_cast<std::size_t>(q.left_out()[k])] = kept[k];
  }
  counts_ = {};
}

void Residual::SubtractEntries(const Distribution& q, double a, double sum) {
  const double unit = 1 / (a * counts_.scale);
  q.ForEach([&](TokenId token, double mass) {
    double& left = left_[static_cast<std::size_t>(token)];
    left = std::max(left - mass * unit, 0.0);
  });
  counts_.scale *= a / sum;
  counts_.kept *= sum / a;
}

}  // namespace banyan
