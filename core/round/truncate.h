// What top_k, top_p and min_p leave of a distribution.
//
// Tokens rank by falling mass, ties by rising token. Few are looked at: the
// largest masses are found by their digits, eight bits at a time, and only they
// are sorted. Where they do not decide, eight times as many are tried.
#ifndef BANYAN_CORE_ROUND_TRUNCATE_H_
#define BANYAN_CORE_ROUND_TRUNCATE_H_

#include <bit>
#include <cstdint>

#include "core/round/book.h"

namespace banyan {

constexpr int kMassDigits = 256;

// Integers of room for a row: as many as it may list, a power of two, the
// counts of a digit, and one more.
BANYAN_STEP std::int64_t TruncationRoom(int vocab) {
  std::int64_t padded = 1;
  while (padded < vocab) padded *= 2;
  return padded + kMassDigits + 1;
}

// Keeps what the numbers of `rule` leave: top_k, top_p and min_p.
template <typename Workers, typename Distributions, typename Integers,
          typename Rule>
class Truncation {
 public:
  // The row begins at number `first` of the masses; from `start` on there is
  // room for TruncationRoom(vocab) integers in `order`.
  BANYAN_STEP Truncation(const Workers& workers, int vocab,
                         const Distributions& distributions, std::int64_t first,
                         const Integers& order, std::int64_t start,
                         const Rule& rule)
      : w_(workers),
        vocab_(vocab),
        distributions_(distributions),
        first_(first),
        order_(order),
        start_(start),
        rule_(rule) {}

  BANYAN_STEP void Run() const {
    const double all = w_.Sum([this](int i) { return Mass(i); });
    int most = vocab_;
    if (vocab_ >= kSelectFrom) {
      most = kFewest;
      if (rule_.top_k > most) most = rule_.top_k;
    }
    while (!RunWith(most, all)) most *= 8;
  }

 private:
  static constexpr int kDigits = kMassDigits;
  static constexpr int kSelectFrom = 2048;
  static constexpr int kFewest = 256;

  BANYAN_STEP double Mass(int token) const {
    return distributions_.Read(first_ + token);
  }
  BANYAN_STEP std::uint64_t Key(int token) const {
    return std::bit_cast<std::uint64_t>(
        Mass(token));  // masses are not negative
  }
  BANYAN_STEP int Ranked(int rank) const { return order_.Read(start_ + rank); }
  // Where a digit's count stands; the last one counts those that are found.
  BANYAN_STEP std::int64_t CountAt(int digit) const {
    return start_ + TruncationRoom(vocab_) - kDigits - 1 + digit;
  }

  // Keeps what is left if the `most` largest masses decide that.
  BANYAN_STEP bool RunWith(int most, double all) const {
    const bool whole = most >= vocab_;
    const std::uint64_t least = whole ? 0 : LeastOf(most);
    const int found = Gather(least, whole);
    Sort(found);
    int kept = 0;
    double sum = 0;
    if (w_.index() == 0) kept = Count(found, whole, all, sum);
    kept = static_cast<int>(w_.Tell(kept));
    if (kept < 0) return false;
    sum = w_.Tell(sum);
    const int last = Ranked(kept - 1);
    const double least_kept = Mass(last);
    w_.Sync();
    for (int i = w_.index(); i < vocab_; i += w_.count()) {
      const double mass = Mass(i);
      const bool keep = mass > least_kept || (mass == least_kept && i <= last);
      distributions_.Write(first_ + i, keep ? mass / sum : 0.0);
    }
    return true;
  }

  // The key of the `most`th largest mass.
  BANYAN_STEP std::uint64_t LeastOf(int most) const {
    std::uint64_t prefix = 0;
    int left = most;
    for (int shift = 56; shift >= 0; shift -= 8) {
      for (int i = w_.index(); i < kDigits; i += w_.count())
        order_.Write(CountAt(i), 0);
      w_.Sync();
      for (int i = w_.index(); i < vocab_; i += w_.count()) {
        const std::uint64_t key = Key(i);
        if (shift == 56 || key >> (shift + 8) == prefix >> (shift + 8))
          (void)order_.AtomicAdd(
              CountAt(static_cast<int>(key >> shift & (kDigits - 1))), 1);
      }
      w_.Sync();
      int digit = kDigits - 1;
      if (w_.index() == 0)
        for (; digit > 0 && order_.Read(CountAt(digit)) < left; --digit)
          left -= order_.Read(CountAt(digit));
      digit = static_cast<int>(w_.Tell(digit));
      left = static_cast<int>(w_.Tell(left));
      prefix |= static_cast<std::uint64_t>(digit) << shift;
      w_.Sync();
    }
    return prefix;
  }

  // Lists the tokens whose mass is at least that, those without mass aside, and
  // returns how many they are.
  BANYAN_STEP int Gather(std::uint64_t least, bool whole) const {
    if (w_.index() == 0) order_.Write(CountAt(kDigits), 0);
    w_.Sync();
    for (int i = w_.index(); i < vocab_; i += w_.count()) {
      const std::uint64_t key = Key(i);
      if (whole || (key >= least && key != 0))
        order_.Write(start_ + order_.AtomicAdd(CountAt(kDigits), 1), i);
    }
    w_.Sync();
    return order_.Read(CountAt(kDigits));
  }

  // Whether token a ranks before token b; numbers past the vocabulary come
  // last.
  BANYAN_STEP bool Before(int a, int b) const {
    if (a >= vocab_ || b >= vocab_) return a < b;
    const double of_a = Mass(a);
    const double of_b = Mass(b);
    return of_a != of_b ? of_a > of_b : a < b;
  }

  // A bitonic sort of the tokens that are listed.
  BANYAN_STEP void Sort(int found) const {
    int padded = 1;
    while (padded < found) padded *= 2;
    for (int i = found + w_.index(); i < padded; i += w_.count())
      order_.Write(start_ + i, vocab_ + i);
    for (int size = 2; size <= padded; size *= 2) {
      for (int apart = size / 2; apart > 0; apart /= 2) {
        w_.Sync();
        for (int i = w_.index(); i < padded / 2; i += w_.count()) {
          const int low = i / apart * apart * 2 + i % apart;
          const int high = low + apart;
          const int a = Ranked(low);
          const int b = Ranked(high);
          const bool falls = (low & size) == 0;
          if (Before(b, a) == falls) {
            order_.Write(start_ + low, b);
            order_.Write(start_ + high, a);
          }
        }
      }
    }
    w_.Sync();
  }

  // How many of the listed tokens are kept, and the sum of their masses; -1:
  // others would have to be known.
  BANYAN_STEP int Count(int found, bool whole, double all, double& sum) const {
    int count = vocab_;
    double total = all;
    if (rule_.top_k > 0) {
      count = rule_.top_k < vocab_ ? rule_.top_k : vocab_;
      total = 0;
      for (int i = 0; i < count && i < found; ++i) total += Mass(Ranked(i));
    }
    const double floor = rule_.min_p * Mass(Ranked(0));
    int kept = 0;
    while (kept < count) {
      if (kept == found) return whole || rule_.top_k > 0 ? kept : -1;
      const double mass = Mass(Ranked(kept));
      if (!(mass > 0) || mass < floor) break;
      ++kept;
      sum += mass;
      if (rule_.top_p < 1 && sum >= rule_.top_p * total) break;
    }
    return kept;
  }

  const Workers& w_;
  const int vocab_;
  const Distributions& distributions_;
  const std::int64_t first_;
  const Integers& order_;
  const std::int64_t start_;
  const Rule& rule_;
};

}  // namespace banyan

#endif  // BANYAN_CORE_ROUND_TRUNCATE_H_
