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

template <typename Workers, typename Book, typename Data>
class DistributionStep {
 public:
  BANYAN_STEP DistributionStep(const Workers& workers, const Book& round,
                               const Data& data, const DistributionRule& rule,
                               const DistributionPlace& place)
      : w_(workers), round_(round), data_(data), rule_(rule), place_(place) {}

  // Makes the distribution of row `row` of the logits.
  BANYAN_STEP void Run(int row) const {
    const int vocab = round_.of.vocab;
    const bool of_target = place_.drafter < 0;
    const bool by_depth =
        !of_target && round_.of.drafters[place_.drafter].by_depth;
    const int rows = of_target ? round_.Get(book::kRows)
                     : by_depth
                         ? 1
                         : round_.Get(book::kWantedCount, place_.drafter);
    if (row >= rows) return;
    int node = 0;
    if (of_target)
      node = round_.Get(book::kRowNode, row);
    else if (!by_depth)
      node = round_.Get(book::kWanted,
                        round_.of.drafters[place_.drafter].first_node + row);
    const int distribution = place_.first_distribution + row;
    const std::int64_t first = std::int64_t{place_.first_row + row} * vocab;
    const auto at = [&](int i) { return data_.distributions.Read(first + i); };

    // Every reading of a row that is longer than a cache costs, so what is
    // written is summed or compared on the way.
    int wrong = kNothing;
    Largest largest = w_.Best([&](int i) {
      const int column = i < rule_.used ? Column(i) : -1;
      const float logit =
          column < 0 ? -INFINITY : data_.logits.Read(row, column);
      double value = static_cast<double>(logit);
      const bool finite = column < 0 || Finite(logit);
      if (rule_.penalty != 1 && Seen(node, i))
        value = value > 0 ? value / rule_.penalty : value * rule_.penalty;
      if ((!finite || !(value < INFINITY)) && i < wrong) wrong = i;
      data_.distributions.Write(first + i, value);
      return value;
    });
    wrong = w_.Least(wrong);
    if (wrong != kNothing)
      return Fail(distribution, kNoNumber, wrong,
                  data_.logits.Read(row, Column(wrong)));
    for (std::int64_t i = w_.index(); i < data_.banned.size(); i += w_.count())
      data_.distributions.Write(first + data_.banned.Read(i), -INFINITY);
    if (data_.banned.size() > 0) largest = w_.Best(at);

    if (largest.number == -INFINITY)
      return Fail(distribution, kNoTokenLeft, 0, 0);
    double total = 1;
    if (rule_.temperature == 0) {
      for (int i = w_.index(); i < vocab; i += w_.count())
        data_.distributions.Write(first + i, i == largest.place ? 1.0 : 0.0);
    } else {
      const auto sum_written = [&](const auto& value) {
        return w_.Sum([&](int i) {
          const double number = value(i);
          data_.distributions.Write(first + i, number);
          return number;
        });
      };
      const double sum = sum_written([&](int i) {
        return ExpOfNegative((at(i) - largest.number) / rule_.temperature);
      });
      total = sum_written([&](int i) { return at(i) / sum; });
      if (rule_.truncates()) {
        Truncation(w_, vocab, data_.distributions, first, data_.order,
                   row * TruncationRoom(vocab), rule_)
            .Run();
        total = w_.Sum(at);
      }
    }
    Fail(distribution, kNoError, 0, 0);
    if (w_.index() == 0)
      round_.SetNumber(book::kDistributionTotal, distribution, total);
  }

 private:
  static constexpr int kNothing = 0x7fffffff;

  BANYAN_STEP static bool Finite(float x) { return x - x == 0; }
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
  BANYAN_STEP void Fail(int distribution, RoundError kind, int token,
                        float logit) const {
    if (w_.index() != 0) return;
    round_.Set(book::kDistributionError, distribution, kind);
    round_.Set(book::kDistributionToken, distribution, token);
    round_.Set(book::kDistributionBits, distribution,
               std::bit_cast<std::int32_t>(logit));
  }

  const Workers& w_;
  const Book& round_;
  const Data& data_;
  const DistributionRule& rule_;
  const DistributionPlace& place_;
};

}  // namespace banyan

#endif  // BANYAN_CORE_ROUND_DISTRIBUTION_STEP_H_
