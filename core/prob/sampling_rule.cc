#include "core/prob/sampling_rule.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <utility>

#include "core/base/check.h"
#include "core/base/draw_math.h"
#include "core/base/number_rows.h"

namespace banyan {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

absl::Status NoLogit(TokenId token, double logit) {
  return absl::InvalidArgumentError(absl::StrCat(
      "the logit of token ", token, " is ", logit, ", expected a number"));
}

absl::Status NoTokenLeft() {
  return absl::InvalidArgumentError(
      "no token is left to draw: every logit is -infinity or banned");
}

absl::Status CheckLogits(absl::Span<const double> logits) {
  // NaN and infinity show in a sum, and that is a vector loop.
  const double* numbers = logits.data();
  const double sum = SumInLanes(
      logits.size(), [=](std::size_t i) { return std::max(numbers[i], 0.0); });
  if (std::isfinite(sum)) return absl::OkStatus();
  for (std::size_t i = 0; i < logits.size(); ++i)
    if (!(logits[i] < kInfinity))
      return NoLogit(static_cast<TokenId>(i), logits[i]);
  return absl::OkStatus();
}

absl::Status CheckFinite(absl::Span<const float> logits) {
  const std::size_t finite = CountFinite(logits);
  if (finite == logits.size()) return absl::OkStatus();
  return NoLogit(static_cast<TokenId>(finite), logits[finite]);
}

absl::Status CheckFinite(absl::Span<const float> logits,
                         absl::Span<const TokenId> tokens) {
  const std::size_t finite = CountFinite(logits);
  if (finite == logits.size()) return absl::OkStatus();
  return NoLogit(tokens[finite], logits[finite]);
}

double LogSumExp(absl::Span<const double> logits) {
  double largest = -kInfinity;
  for (double logit : logits) largest = std::max(largest, logit);
  if (largest == -kInfinity) return largest;
  double sum = 0;
  for (double logit : logits) sum += std::exp(logit - largest);
  return largest + std::log(sum);
}

absl::StatusOr<std::vector<TokenLogit>> BestLogits(
    absl::Span<const double> logits, int k) {
  Check(k >= 1, "the best of a row are at least one");
  BANYAN_RETURN_IF_ERROR(CheckLogits(logits));
  std::vector<TokenLogit> best;
  for (std::size_t i = 0; i < logits.size(); ++i)
    if (logits[i] > -kInfinity)
      best.push_back({static_cast<TokenId>(i), logits[i]});
  const auto count = std::min(best.size(), static_cast<std::size_t>(k));
  const auto end = best.begin() + static_cast<std::ptrdiff_t>(count);
  std::partial_sort(best.begin(), end, best.end(),
                    [](const TokenLogit& a, const TokenLogit& b) {
                      return a.logit != b.logit ? a.logit > b.logit
                                                : a.token < b.token;
                    });
  best.erase(end, best.end());
  return best;
}

namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

// Every token once, however often it occurs.
void Penalise(std::vector<double>& logits, double penalty,
              absl::Span<const TokenId> history,
              absl::Span<const TokenId> path) {
  std::vector<char> seen(logits.size(), 0);
  for (absl::Span<const TokenId> part : {history, path}) {
    for (TokenId token : part) {
      const auto index = static_cast<std::size_t>(token);
      // A begin token may lie outside the vocabulary that is emitted.
      if (index >= logits.size() || seen[index] != 0) continue;
      seen[index] = 1;
      logits[index] =
          logits[index] > 0 ? logits[index] / penalty : logits[index] * penalty;
    }
  }
}

// Made for several kinds of processor, of which the program takes the widest
// vectors that this one has: the numbers are the same, for nothing is fused.
#if defined(__x86_64__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define BANYAN_WIDE __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define BANYAN_WIDE
#endif

// exp((x - largest) / temperature) of every number.
BANYAN_WIDE void Exponentiate(double* x, std::size_t count, double temperature,
                              double largest) {
  for (std::size_t i = 0; i < count; ++i)
    x[i] = ClampForExp((x[i] - largest) / temperature);
  for (std::size_t i = 0; i < count; ++i) x[i] = ExpOfClamped(x[i]);
}

BANYAN_WIDE void DivideAll(double* x, std::size_t count, double by) {
  for (std::size_t i = 0; i < count; ++i) x[i] /= by;
}

// In the place of the logits.
void Softmax(std::vector<double>& row, double temperature, double largest) {
  double* x = row.data();
  Exponentiate(x, row.size(), temperature, largest);
  const double sum =
      SumInLanes(row.size(), [=](std::size_t i) { return x[i]; });
  DivideAll(x, row.size(), sum);
}

// Token ids by falling mass, ties by rising id. Ranked no further than asked
// for: to rank a whole vocabulary takes longer than all else.
class Ranking {
 public:
  explicit Ranking(absl::Span<const double> masses)
      : masses_(masses), order_(masses.size()) {
    std::iota(order_.begin(), order_.end(), TokenId{0});
  }

  TokenId At(std::size_t rank) {
    if (rank >= ranked_) RankMore();
    return order_[rank];
  }

 private:
  void RankMore() {
    constexpr std::size_t kFirst = 64;
    constexpr std::size_t kGrowth = 8;
    const double* masses = masses_.data();
    const auto larger = [masses](TokenId a, TokenId b) {
      return masses[a] != masses[b] ? masses[a] > masses[b] : a < b;
    };
    const auto begin = order_.begin() + static_cast<std::ptrdiff_t>(ranked_);
    ranked_ = std::min(std::max(kFirst, kGrowth * ranked_), order_.size());
    const auto end = order_.begin() + static_cast<std::ptrdiff_t>(ranked_);
    std::partial_sort(begin, end, order_.end(), larger);
  }

  absl::Span<const double> masses_;
  std::vector<TokenId> order_;
  std::size_t ranked_ = 0;  // how many of order_ are in order
};

// Returns what top-k, top-p and min-p leave, sparse, with a sum of 1.
Distribution Truncate(absl::Span<const double> masses,
                      const SamplingOptions& options) {
  Ranking ranking(masses);
  const auto mass = [&](TokenId token) {
    return masses[static_cast<std::size_t>(token)];
  };
  std::size_t count = masses.size();
  double total = 0;
  if (options.top_k > 0) {
    count = std::min(count, static_cast<std::size_t>(options.top_k));
    for (std::size_t i = 0; i < count; ++i) total += mass(ranking.At(i));
  } else {
    total = CheckedSum(masses);
  }

  const double floor = options.min_p * mass(ranking.At(0));
  std::vector<TokenId> kept;
  double sum = 0;
  while (kept.size() < count) {
    const TokenId token = ranking.At(kept.size());
    if (!(mass(token) > 0) || mass(token) < floor) break;
    kept.push_back(token);
    sum += mass(token);
    if (options.top_p < 1 && sum >= options.top_p * total) break;
  }
  std::sort(kept.begin(), kept.end());
  std::vector<double> values;
  for (TokenId token : kept) values.push_back(mass(token) / sum);
  return Distribution::Sparse(static_cast<int>(masses.size()), std::move(kept),
                              std::move(values));
}

}  // namespace

SamplingRule::SamplingRule(SamplingOptions options)
    : options_(std::move(options)) {
  Check(options_.repetition_penalty > 0 &&
            std::isfinite(options_.repetition_penalty),
        "a repetition penalty must be positive and finite");
  Check(options_.temperature >= 0 && std::isfinite(options_.temperature),
        "a temperature must not be negative, nor infinite");
  Check(options_.top_k >= 0, "top_k must not be negative");
  Check(options_.top_p > 0 && options_.top_p <= 1, "top_p must lie in (0, 1]");
  Check(options_.min_p >= 0 && options_.min_p <= 1, "min_p must lie in [0, 1]");
}

absl::StatusOr<SamplingRule> SamplingRule::FromParams(const Params& section) {
  SamplingOptions options;
  ParamsReader in(section, "sampling");
  in.Optional("temperature", options.temperature);
  in.Ensure(options.temperature >= 0, "temperature", "must not be negative");
  in.Optional("top_k", options.top_k);
  in.Ensure(options.top_k >= 0, "top_k", "must not be negative (0 is off)");
  in.Optional("top_p", options.top_p);
  in.Ensure(options.top_p > 0 && options.top_p <= 1, "top_p",
            "must lie in (0, 1]");
  in.Optional("min_p", options.min_p);
  in.Ensure(options.min_p >= 0 && options.min_p <= 1, "min_p",
            "must lie in [0, 1]");
  in.Optional("repetition_penalty", options.repetition_penalty);
  in.Ensure(options.repetition_penalty > 0, "repetition_penalty",
            "must be positive (1 is off)");
  in.Optional("banned", options.banned);
  in.Ensure(std::all_of(options.banned.begin(), options.banned.end(),
                        [](TokenId token) { return token >= 0; }),
            "banned", "must list token ids, which are not negative");
  BANYAN_RETURN_IF_ERROR(in.Finish());
  return SamplingRule(std::move(options));
}

absl::Status SamplingRule::CheckFits(int vocab_size) const {
  for (const TokenId token : options_.banned)
    if (token >= vocab_size)
      return absl::InvalidArgumentError(
          absl::StrCat("sampling: banned: expected tokens from 0 to ",
                       vocab_size - 1, ", the target's, found ", token));
  return absl::OkStatus();
}

absl::StatusOr<Distribution> SamplingRule::Apply(
    absl::Span<const double> logits, absl::Span<const TokenId> history,
    absl::Span<const TokenId> path) const {
  return ApplyTo({logits.begin(), logits.end()}, history, path);
}

absl::StatusOr<Distribution> SamplingRule::ApplyTo(
    std::vector<double> row, absl::Span<const TokenId> history,
    absl::Span<const TokenId> path) const {
  if (options_.repetition_penalty != 1)
    Penalise(row, options_.repetition_penalty, history, path);
  BANYAN_RETURN_IF_ERROR(CheckLogits(row));  // a penalty may overflow one
  for (TokenId token : options_.banned)
    if (static_cast<std::size_t>(token) < row.size())
      row[static_cast<std::size_t>(token)] = kNever;

  const double largest = LargestInLanes(row.data(), row.size(), kNever);
  if (largest == kNever) return NoTokenLeft();
  if (greedy()) {
    const auto first = std::find(row.begin(), row.end(), largest);
    return Distribution::OneHot(static_cast<int>(row.size()),
                                static_cast<TokenId>(first - row.begin()));
  }
  Softmax(row, options_.temperature, largest);
  if (!leaves_out()) return Distribution::Dense(std::move(row));
  return Truncate(row, options_);
}

absl::StatusOr<Distribution> SamplingRule::ApplyToSome(
    std::vector<double> logits, absl::Span<const TokenId> tokens,
    int vocab_size, absl::Span<const TokenId> history,
    absl::Span<const TokenId> path) const {
  Check(logits.size() == tokens.size(), "a logit for each token");
  // Of what is wrong with a logit the whole row tells the token.
  const bool plain = options_.repetition_penalty == 1 &&
                     options_.banned.empty() && (greedy() || !leaves_out()) &&
                     CheckLogits(logits).ok();
  if (!plain) {
    std::vector<double> row(static_cast<std::size_t>(vocab_size), kNever);
    for (std::size_t i = 0; i < tokens.size(); ++i)
      row[static_cast<std::size_t>(tokens[i])] = logits[i];
    return ApplyTo(std::move(row), history, path);
  }
  const double largest = LargestInLanes(logits.data(), logits.size(), kNever);
  if (largest == kNever) return NoTokenLeft();
  if (greedy()) {
    const auto first = std::find(logits.begin(), logits.end(), largest);
    return Distribution::OneHot(
        vocab_size, tokens[static_cast<std::size_t>(first - logits.begin())]);
  }
  Exponentiate(logits.data(), logits.size(), options_.temperature, largest);
  SparseSum sum;
  for (std::size_t i = 0; i < tokens.size(); ++i)
    sum.Add(static_cast<std::size_t>(tokens[i]), logits[i]);
  DivideAll(logits.data(), logits.size(), sum.Total());
  return Distribution::Sparse(vocab_size, {tokens.begin(), tokens.end()},
                              std::move(logits));
}

}  // namespace banyan
