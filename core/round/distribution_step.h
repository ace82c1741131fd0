// The distributions of a round, from rows of logits: what SamplingRule::Apply
// does. A distribution is a row of doubles, 0 where a token was left out.
#ifndef BANYAN_CORE_ROUND_DISTRIBUTION_STEP_H_
#define BANYAN_CORE_ROUND_DISTRIBUTION_STEP_H_

#include <bit>
#include <cmath>
#include <cstdint>

#include "core/base/draw_math.h"
#include "core/round/book.h"
#include "core/round/layout.h"
#include "core/round/truncate.h"
#include "core/round/workers.h"

namespace banyan {

// The sampling rule that makes a distribution.
struct DistributionRule {
  double temperature = 1;
  double penalty = 1;
  double top_p = 1;
  double min_p = 0;
  int top_k = 0;
  int used = 0;  // tokens from here on are none

  BANYAN_STEP bool truncates() const {
    return top_k > 0 || top_p < 1 || min_p > 0;
  }
};

// Numbers that a distribution is made from and where it goes.
template <typename Logits, typename Distributions, typename Integers,
          typename MutableIntegers>
struct DistributionData {
  Logits logits;     // Read(row, column)
  Integers columns;  // by token: its logit's, -1 if none; or none
  Integers banned;   // tokens, each once
  Integers seen;     // by token: how often it stands in the text; or none
  Distributions distributions;
  MutableIntegers order;  // room, where a rule truncates
};

// Of a drafter's level, or, for drafter -1, of the target's rows.
struct DistributionPlace {
  int drafter;
  int first_distribution;  // of all
  // Its place among the rows of distributions, drafters' or the target's.
  int first_row;
};

// A row of logits becomes a distribution in four steps. Several workers may
// share the runs of a row (core/base/draw_math.h) in all but the last, each
// after all have done the one before.
template <typename Workers, typename Book, typename Data>
class DistributionStep {
 public:
  // Row `row` of the logits; there may be no such row (`exists`).
  BANYAN_STEP DistributionStep(const Workers& workers, const Book& round,
                               const Data& data, const DistributionRule& rule,
                               const DistributionPlace& place, int row)
      : w_(workers),
        round_(round),
        data_(data),
        rule_(rule),
        row_(row),
        distribution_(place.first_distribution + row),
        first_run_(distribution_ * SumRuns(round.of.vocab)),
        first_(std::int64_t{place.first_row + row} * round.of.vocab) {
    if (place.drafter < 0) {
      exists_ = row < round_.Get(book::kRows);
      if (exists_) node_ = round_.Get(book::kRowNode, row);
    } else if (const DrafterLayout& of = round_.of.drafters[place.drafter];
               of.by_depth) {
      exists_ = row < 1;
    } else {
      exists_ = row < round_.Get(book::kWantedCount, place.drafter);
      if (exists_) node_ = round_.Get(book::kWanted, of.first_node + row);
    }
  }

  BANYAN_STEP bool exists() const { return exists_; }

  // All four.
  BANYAN_STEP void Run() const {
    const int runs = SumRuns(round_.of.vocab);
    Values(0, runs);
    Exponents(0, runs);
    Masses(0, runs);
    Finish();
  }

  // Logits with the penalty, of runs `begin` to `end`. One that is no number is
  // infinity, so that the largest tells where the first of them stands.
  BANYAN_STEP void Values(int begin, int end) const {
    w_.EachRun(
        begin, end,
        [&](int i) {
          const int column = i < rule_.used ? Column(i) : -1;
          if (column < 0) return -INFINITY;
          const float logit = data_.logits.Read(row_, column);
          return Finite(logit) ? logit : INFINITY;
        },
        [&](int i, float logit) {
          double value = static_cast<double>(logit);
          if (rule_.penalty != 1 && Seen(node_, i))
            value = value > 0 ? value / rule_.penalty : value * rule_.penalty;
          return Written(i, value);
        },
        KeepBest());
    if (data_.banned.size() == 0) return;
    w_.Sync();
    for (std::int64_t k = w_.index(); k < data_.banned.size();
         k += w_.count()) {
      const int i = data_.banned.Read(k);
      if (i >= begin * kSumRun && i < end * kSumRun && At(i) < INFINITY)
        (void)Written(i, -INFINITY);
    }
    w_.Sync();
    w_.EachRun(
        begin, end, [&](int i) { return At(i); },
        [](int /*token*/, double value) { return value; }, KeepBest());
  }

  // Exponentials, or at temperature 0 one mass; what is wrong with the row.
  BANYAN_STEP void Exponents(int begin, int end) const {
    const Largest largest = KeptBest(w_, round_, distribution_);
    const bool first = begin == 0;
    if (largest.number == INFINITY) {
      if (first)
        Note(kNoNumber, largest.place,
             data_.logits.Read(row_, Column(largest.place)));
      return;
    }
    if (largest.number == -INFINITY) {
      if (first) Note(kNoTokenLeft, 0, 0);
      return;
    }
    if (first) Note(kNoError, 0, 0);
    w_.EachRun(
        begin, end, [&](int i) { return At(i); },
        [&](int i, double value) {
          return Written(i, rule_.temperature == 0
                                ? (i == largest.place ? 1.0 : 0.0)
                                : ExpOfNegative((value - largest.number) /
                                                rule_.temperature));
        },
        [&](int run, double sum, Largest /*best*/) {
          round_.SetNumber(book::kRunSum, first_run_ + run, sum);
        });
  }

  // Their shares of the sum.
  BANYAN_STEP void Masses(int begin, int end) const {
    if (Failed()) return;
    const double sum = w_.TotalOf([&](int run) {
      return round_.Number(book::kRunSum, first_run_ + run);
    });
    w_.EachRun(
        begin, end, [&](int i) { return At(i); },
        [&](int i, double value) { return Written(i, value / sum); },
        KeepMasses());
  }

  // What rules leave, and the sum.
  BANYAN_STEP void Finish() const {
    if (Failed()) return;
    if (rule_.temperature != 0 && rule_.truncates()) {
      Truncation(w_, round_.of.vocab, data_.distributions, first_, data_.order,
                 row_ * TruncationRoom(round_.of.vocab), rule_)
          .Run();
      w_.Sync();
      w_.EachRun(
          0, SumRuns(round_.of.vocab), [&](int i) { return At(i); },
          [](int /*token*/, double mass) { return mass; }, KeepMasses());
      w_.Sync();
    }
    const double total = KeptTotal(w_, round_, distribution_);
    if (w_.index() == 0)
      round_.SetNumber(book::kDistributionTotal, distribution_, total);
  }

 private:
  BANYAN_STEP static bool Finite(float x) { return x - x == 0; }
  BANYAN_STEP double At(int token) const {
    return data_.distributions.Read(first_ + token);
  }
  BANYAN_STEP double Written(int token, double number) const {
    data_.distributions.Write(first_ + token, number);
    return number;
  }
  BANYAN_STEP auto KeepBest() const {
    return [this](int run, double /*sum*/, Largest best) {
      round_.SetNumber(book::kRunBest, first_run_ + run, best.number);
      round_.Set(book::kRunPlace, first_run_ + run, best.place);
    };
  }
  BANYAN_STEP auto KeepMasses() const {
    return [this](int run, double sum, Largest best) {
      round_.SetNumber(book::kRunMass, first_run_ + run, sum);
      KeepBest()(run, sum, best);
    };
  }
  BANYAN_STEP bool Failed() const {
    return round_.Get(book::kDistributionError, distribution_) != kNoError;
  }
  // Whether a token stands in the text, or on the way to the row's node.
  BANYAN_STEP bool Seen(int node, int token) const {
    if (data_.seen.Read(token) > 0) return true;
    for (; node >= 0; node = round_.Get(book::kParent, node))
      if (round_.Get(book::kParent, node) >= 0 &&
          round_.Get(book::kToken, node) == token)
        return true;
    return false;
  }
  // Of a token's logit.
  BANYAN_STEP int Column(int token) const {
    return data_.columns.empty() ? token : data_.columns.Read(token);
  }
  BANYAN_STEP void Note(RoundError kind, int token, float logit) const {
    if (w_.index() != 0) return;
    round_.Set(book::kDistributionError, distribution_, kind);
    round_.Set(book::kDistributionToken, distribution_, token);
    round_.Set(book::kDistributionBits, distribution_,
               std::bit_cast<std::int32_t>(logit));
  }

  const Workers& w_;
  const Book& round_;
  const Data& data_;
  const DistributionRule& rule_;
  const int row_;
  const int distribution_;
  const int first_run_;
  const std::int64_t first_;
  bool exists_ = false;
  int node_ = 0;
};

}  // namespace banyan

#endif  // BANYAN_CORE_ROUND_DISTRIBUTION_STEP_H_
