#include "core/prob/residual.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "core/base/check.h"
#include "core/base/lanes.h"
#include "core/base/token.h"
#include "core/base/weights.h"
#include "core/prob/distribution.h"

namespace banyan {
namespace {

// sum of max(x_scale * x[i] - y_scale * y[i], 0).
double SumOfExcess(absl::Span<const double> row, double x_scale,
                   absl::Span<const double> other, double y_scale) {
  const double* x = row.data();
  const double* y = other.data();
  return SumInLanes(row.size(), [=](std::size_t i) {
    return std::max(x_scale * x[i] - y_scale * y[i], 0.0);
  });
}

bool BothDense(const Distribution& p, const Distribution& q) {
  return p.dense() && q.dense();
}

}  // namespace

Residual::Residual(const Distribution& p)
    : start_(p), scale_(p.factor() / p.total()) {
  Check(!p.empty(), "a target law without mass");
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
  return index < 0 ? 0 : scale_ * row()[static_cast<std::size_t>(index)];
}

Weights Residual::weights() const { return {row()}; }

double Residual::Excess(const Distribution& q, double a) const {
  Check(q.vocab_size() == start_.vocab_size(),
        "a proposal over another vocabulary than the target law");
  Check(a >= 0 && std::isfinite(a), "a factor is negative or not finite");
  const double sum =
      BothDense(start_, q) ? ExcessOverRow(q, a) : ExcessOverEntries(q, a);
  return sum < std::numeric_limits<double>::min() ? 0 : sum;
}

double Residual::Subtract(const Distribution& q, double a) {
  const double sum = Excess(q, a);
  if (sum == 0) return 0;
  Own();
  if (start_.dense() && !q.dense() && Trusts(sum, a))
    SubtractEntries(q, a, sum);
  else
    SubtractRow(q, a, sum);
  return sum;
}

// A difference from 1 keeps its digits while enough is left, counted from the
// last time the row was summed: each refusal hands its rounding on to the next.
bool Residual::Trusts(double sum, double a) const {
  constexpr double kCancelled = 1.0 / 1024;
  return kept_ * sum >= kCancelled * a;
}

double Residual::ExcessOverRow(const Distribution& q, double a) const {
  double sum = SumOfExcess(row(), a * scale_, q.masses(), q.factor());
  for (int index : q.left_out()) {
    const double mass = a * scale_ * row()[static_cast<std::size_t>(index)];
    const double counted =
        q.factor() * q.masses()[static_cast<std::size_t>(index)];
    sum += mass - std::max(mass - counted, 0.0);
  }
  return sum;
}

double Residual::ExcessOverEntries(const Distribution& q, double a) const {
  // pos(x - y) = x - min(x, y), and cur sums to 1: only q's entries matter.
  if (start_.dense()) {
    double covered = 0;
    q.ForEach([&](TokenId token, double mass) {
      covered += std::min(a * Mass(token), mass);
    });
    if (Trusts(a - covered, a)) return a - covered;
  }
  double sum = 0;
  const double own = a * scale_;
  for (int i = 0; i < static_cast<int>(row().size()); ++i)
    sum += std::max(
        own * row()[static_cast<std::size_t>(i)] - q.Mass(TokenAt(i)), 0.0);
  return sum;
}

void Residual::Own() {
  if (left_.empty())
    left_.assign(start_.masses().begin(), start_.masses().end());
}

// Rounds each term as the sum did, so that they sum to 1 even if the sum is
// itself but rounding.
void Residual::SubtractRow(const Distribution& q, double a, double sum) {
  const double own = a * scale_;
  const double norm = 1 / sum;
  if (!BothDense(start_, q)) {
    for (int i = 0; i < static_cast<int>(left_.size()); ++i) {
      double& left = left_[static_cast<std::size_t>(i)];
      left = norm * std::max(own * left - q.Mass(TokenAt(i)), 0.0);
    }
  } else {
    std::vector<double> kept;  // tokens q cannot draw lose nothing
    for (int index : q.left_out())
      kept.push_back(norm * (own * left_[static_cast<std::size_t>(index)]));
    const double theirs = q.factor();
    // Pointers for the reason that core/base/lanes.h gives.
    const double* masses = q.masses().data();
    double* left = left_.data();
    for (std::size_t i = 0; i < left_.size(); ++i)
      left[i] = norm * std::max(own * left[i] - theirs * masses[i], 0.0);
    for (std::size_t k = 0; k < kept.size(); ++k)
      left_[static_cast<std::size_t>(q.left_out()[k])] = kept[k];
  }
  scale_ = 1;
  kept_ = 1;
}

void Residual::SubtractEntries(const Distribution& q, double a, double sum) {
  const double unit = 1 / (a * scale_);
  q.ForEach([&](TokenId token, double mass) {
    double& left = left_[static_cast<std::size_t>(token)];
    left = std::max(left - mass * unit, 0.0);
  });
  scale_ *= a / sum;
  kept_ *= sum / a;
}

}  // namespace banyan
