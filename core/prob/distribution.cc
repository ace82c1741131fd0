#include "core/prob/distribution.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "core/base/check.h"
#include "core/base/checked_sum.h"
#include "core/base/lanes.h"
#include "core/base/token.h"

namespace banyan {
namespace {

// The reciprocal of anything less overflows.
constexpr double kNothing = std::numeric_limits<double>::min();

double TotalOf(const std::vector<double>& masses) {
  const double total = CheckedSum(masses);
  Check(std::isfinite(total), "masses of a distribution must be finite");
  return total;
}

// Eight maxima for the reason that core/base/lanes.h gives for sums.
double Largest(absl::Span<const double> row) {
  const double* masses = row.data();
  double most[kLanes] = {};
  const std::size_t whole = row.size() / kLanes * kLanes;
  for (std::size_t i = 0; i < whole; i += kLanes)
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      most[lane] = std::max(most[lane], masses[i + lane]);
  for (std::size_t i = whole; i < row.size(); ++i)
    most[0] = std::max(most[0], masses[i]);
  return *std::max_element(most, most + kLanes);
}

bool Contains(absl::Span<const int> list, int value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

}  // namespace

Distribution Distribution::Dense(std::vector<double> masses) {
  Distribution result;
  result.vocab_size_ = static_cast<int>(masses.size());
  result.raw_total_ = result.summed_ = TotalOf(masses);
  result.masses_ =
      std::make_shared<const std::vector<double>>(std::move(masses));
  return result;
}

Distribution Distribution::Sparse(int vocab_size, std::vector<TokenId> tokens,
                                  std::vector<double> masses) {
  Check(tokens.size() == masses.size(), "a sparse row needs a mass per token");
  Check(tokens.empty() || (tokens.front() >= 0 && tokens.back() < vocab_size),
        "a token of a sparse row is outside the vocabulary");
  Check(std::adjacent_find(tokens.begin(), tokens.end(),
                           std::greater_equal<>()) == tokens.end(),
        "the tokens of a sparse row must ascend");
  Distribution result;
  result.vocab_size_ = vocab_size;
  result.raw_total_ = result.summed_ = TotalOf(masses);
  result.tokens_ =
      std::make_shared<const std::vector<TokenId>>(std::move(tokens));
  result.masses_ =
      std::make_shared<const std::vector<double>>(std::move(masses));
  return result;
}

Distribution Distribution::OneHot(int vocab_size, TokenId token) {
  return Sparse(vocab_size, {token}, {1.0});
}

absl::Span<const double> Distribution::masses() const {
  if (masses_ == nullptr) return {};
  return *masses_;
}

int Distribution::IndexOf(TokenId token) const {
  Check(token >= 0 && token < vocab_size_, "token outside the vocabulary");
  if (dense()) return token;
  const auto at = std::lower_bound(tokens_->begin(), tokens_->end(), token);
  if (at == tokens_->end() || *at != token) return -1;
  return static_cast<int>(at - tokens_->begin());
}

TokenId Distribution::TokenAt(int index) const {
  return dense() ? index : (*tokens_)[static_cast<std::size_t>(index)];
}

double Distribution::Mass(TokenId token) const {
  const int index = IndexOf(token);
  if (index < 0 || Contains(left_out_, index)) return 0;
  return scale_ * (*masses_)[static_cast<std::size_t>(index)];
}

void Distribution::ForEach(absl::FunctionRef<void(TokenId, double)> f) const {
  const absl::Span<const double> row = masses();
  for (int i = 0; i < static_cast<int>(row.size()); ++i) {
    const double mass = scale_ * row[i];
    if (mass > 0 && !Contains(left_out_, i)) f(TokenAt(i), mass);
  }
}

TokenId Distribution::Argmax() const {
  Check(!empty(), "a distribution without mass has no largest token");
  // Only the runs with a larger mass than all before are looked through.
  constexpr int kRun = 64;
  const absl::Span<const double> row = masses();
  const int size = static_cast<int>(row.size());
  int best = -1;
  double best_mass = 0;
  for (int begin = 0; begin < size; begin += kRun) {
    if (!(Largest(row.subspan(begin, kRun)) > best_mass)) continue;
    for (int i = begin; i < std::min(begin + kRun, size); ++i) {
      if (!(row[i] > best_mass) || Contains(left_out_, i)) continue;
      best = i;
      best_mass = row[i];
    }
  }
  return TokenAt(best);
}

Distribution Distribution::Without(TokenId token) const {
  const int index = IndexOf(token);
  if (index < 0 || Contains(left_out_, index)) return *this;
  Distribution result = *this;
  result.left_out_.push_back(index);
  result.raw_total_ = raw_total_ - (*masses_)[static_cast<std::size_t>(index)];
  // A small difference of large sums has lost its digits: sum what is left.
  constexpr double kCancelled = 1.0 / 1024;
  if (!(result.raw_total_ >= kCancelled * summed_)) {
    result.scale_ = 1;
    double left = 0;
    result.ForEach([&](TokenId, double mass) { left += mass; });
    result.raw_total_ = result.summed_ = left;
  }
  if (result.raw_total_ < kNothing) result.raw_total_ = 0;
  result.scale_ = result.empty() ? 0 : total() / result.raw_total_;
  return result;
}

Distribution Distribution::KeepAtLeast(double threshold) const {
  std::vector<TokenId> tokens;
  std::vector<double> masses;
  ForEach([&](TokenId token, double mass) {
    if (mass < threshold) return;
    tokens.push_back(token);
    masses.push_back(mass);
  });
  return Sparse(vocab_size_, std::move(tokens), std::move(masses));
}

Distribution Distribution::Normalized() const {
  Check(raw_total_ >= kNothing,
        "a distribution without mass cannot be normalised");
  Distribution result = *this;
  result.scale_ = 1 / raw_total_;
  return result;
}

double Overlap(const Distribution& p, const Distribution& q) {
  Check(p.vocab_size() == q.vocab_size(), "two laws of different vocabularies");
  double sum = 0;
  const Distribution& fewer = q.masses().size() < p.masses().size() ? q : p;
  const Distribution& other = &fewer == &q ? p : q;
  fewer.ForEach([&](TokenId token, double mass) {
    sum += std::min(mass, other.Mass(token));
  });
  return sum;
}

}  // namespace banyan
