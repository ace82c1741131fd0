#include "core/prob/distribution.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <utility>

#include "core/base/check.h"

namespace banyan {
namespace {

LawScale Whole(double total) {
  Check(std::isfinite(total), "masses of a distribution must be finite");
  return {.row_total = total, .summed = total};
}

bool Contains(absl::Span<const int> list, int value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

}  // namespace

Distribution Distribution::Dense(std::vector<double> masses) {
  Distribution result;
  result.vocab_size_ = static_cast<int>(masses.size());
  result.counts_ = Whole(CheckedSum(masses));
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
  SparseSum total;
  for (std::size_t i = 0; i < masses.size(); ++i) {
    Check(masses[i] >= 0, "a mass or weight is negative or NaN");
    total.Add(static_cast<std::size_t>(tokens[i]), masses[i]);
  }
  result.counts_ = Whole(total.Total());
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

absl::Span<const TokenId> Distribution::tokens() const {
  if (dense()) return {};
  return *tokens_;
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
  return counts_.scale * (*masses_)[static_cast<std::size_t>(index)];
}

void Distribution::ForEach(absl::FunctionRef<void(TokenId, double)> f) const {
  const absl::Span<const double> row = masses();
  for (int i = 0; i < static_cast<int>(row.size()); ++i) {
    const double mass = counts_.scale * row[i];
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
    const int end = std::min(begin + kRun, size);
    if (!(LargestInLanes(&row[begin], end - begin, 0) > best_mass)) continue;
    for (int i = begin; i < end; ++i) {
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
  const double number = (*masses_)[static_cast<std::size_t>(index)];
  SparseSum rest;
  if (counts_.MustSum(number)) {
    result.counts_.scale = 1;  // the row's own numbers
    result.ForEach([&](TokenId other, double mass) {
      rest.Add(static_cast<std::size_t>(other), mass);
    });
  }
  result.counts_ = counts_;
  result.counts_.TakeOut(number, rest.Total());
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
  Check(counts_.row_total >= kNoMass,
        "a distribution without mass cannot be normalised");
  Distribution result = *this;
  result.counts_.Normalize();
  return result;
}

double Overlap(const Distribution& p, const Distribution& q) {
  Check(p.vocab_size() == q.vocab_size(),
        "two distributions of different vocabularies");
  double sum = 0;
  const Distribution& fewer = q.masses().size() < p.masses().size() ? q : p;
  const Distribution& other = &fewer == &q ? p : q;
  fewer.ForEach([&](TokenId token, double mass) {
    sum += std::min(mass, other.Mass(token));
  });
  return sum;
}

}  // namespace banyan
