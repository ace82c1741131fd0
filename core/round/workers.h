// Who does a step: one thread, or the threads of a device's block, which call
// everything together and get the same results. Workers have
//
//   index(), count()     which of them this is, and how many there are
//   Sync()               all have come here
//
// and, for rows of numbers, in the order of core/base/draw_math.h:
//
//   EachRun(begin, end, load, make, note)
//                        of each of these runs note(run, sum, largest), by one
//                        worker: of make(i, load(i)), i a place of the run.
//                        make may write what load reads at the same place
//   TotalOf(sum), BestOf(largest)   of all runs, each given by its number;
//                        they are kept
//   Sum(value), Best(value)   the two of value(0) to value(vocab - 1)
//   SumAgain(i, value), BestAgain(i, value)   the same, where only numbers of
//                        place i's run changed
//   Place(limit, value)  where the kept sum first exceeds the limit
//   Tell(x)              what worker 0 says
#ifndef BANYAN_CORE_ROUND_WORKERS_H_
#define BANYAN_CORE_ROUND_WORKERS_H_

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/draw_math.h"
#include "core/round/book.h"

namespace banyan {

struct Largest {
  double number = -INFINITY;
  int place = 0x7fffffff;

  BANYAN_STEP void Take(double other, int at) {
    if (other > number || (other == number && at < place)) {
      number = other;
      place = at;
    }
  }
};

// A device's threads where there are no rows.
template <typename Thread>
struct BlockWorkers {
  const Thread& t;

  BANYAN_STEP int index() const { return t.index(); }
  BANYAN_STEP int count() const { return t.threads(); }
  BANYAN_STEP void Sync() const { t.Sync(); }
};

// The sum and the largest number of a distribution, by what its last step kept
// of its runs.
template <typename Workers, typename Book>
BANYAN_STEP double KeptTotal(const Workers& w, const Book& round,
                             int distribution) {
  const int first = distribution * SumRuns(round.of.vocab);
  return w.TotalOf(
      [&](int run) { return round.Number(book::kRunMass, first + run); });
}
template <typename Workers, typename Book>
BANYAN_STEP Largest KeptBest(const Workers& w, const Book& round,
                             int distribution) {
  const int first = distribution * SumRuns(round.of.vocab);
  return w.BestOf([&](int run) {
    return Largest{round.Number(book::kRunBest, first + run),
                   round.Get(book::kRunPlace, first + run)};
  });
}

#ifndef __CUDACC__

// One thread of this machine.
class OneWorker {
 public:
  explicit OneWorker(int vocab)
      : vocab_(vocab), sums_(static_cast<std::size_t>(SumRuns(vocab))) {}

  static int index() { return 0; }
  static int count() { return 1; }
  static void Sync() {}

  template <typename Load, typename Make, typename Note>
  void EachRun(int begin, int end, const Load& load, const Make& make,
               const Note& note) const {
    for (int run = begin; run < end; ++run) {
      double lanes[kSumLanes] = {};
      Largest largest;
      for (int i = run * kSumRun; i < EndOf(run); ++i) {
        const double number = make(i, load(i));
        lanes[i % kSumLanes] += number;
        largest.Take(number, i);
      }
      note(run, AddLanes(lanes), largest);
    }
  }
  template <typename SumOf>
  double TotalOf(const SumOf& sum) const {
    double total = 0;
    for (std::size_t run = 0; run < sums_.size(); ++run)
      total += sums_[run] = sum(static_cast<int>(run));
    return total;
  }
  template <typename LargestOf>
  Largest BestOf(const LargestOf& best) const {
    Largest largest;
    for (int run = 0; run < SumRuns(vocab_); ++run) {
      const Largest own = best(run);
      largest.Take(own.number, own.place);
    }
    return largest;
  }
  template <typename Value>
  double Sum(const Value& value) const {
    return TotalOf([&](int run) { return SumOf(run, value); });
  }
  template <typename Value>
  double SumAgain(int place, const Value& value) const {
    return TotalOf([&](int run) {
      return run == place / kSumRun ? SumOf(run, value)
                                    : sums_[static_cast<std::size_t>(run)];
    });
  }
  template <typename Value>
  int Place(double limit, const Value& value) const {
    double before = 0;
    const int run = FirstAbove(
        limit, 0, static_cast<int>(sums_.size()),
        [this](int i) { return sums_[static_cast<std::size_t>(i)]; }, before);
    return FirstAbove(limit, run * kSumRun, EndOf(run), value, before);
  }
  template <typename Value>
  Largest Best(const Value& value) const {
    Largest largest;
    for (int i = 0; i < vocab_; ++i) largest.Take(value(i), i);
    return largest;
  }
  template <typename Value>
  Largest BestAgain(int /*place*/, const Value& value) const {
    return Best(value);
  }
  static double Tell(double number) { return number; }

 private:
  int EndOf(int run) const {
    const int end = (run + 1) * kSumRun;
    return end < vocab_ ? end : vocab_;
  }
  template <typename Value>
  double SumOf(int run, const Value& value) const {
    double lanes[kSumLanes] = {};
    for (int i = run * kSumRun; i < EndOf(run); ++i)
      lanes[i % kSumLanes] += value(i);
    return AddLanes(lanes);
  }

  const int vocab_;
  mutable std::vector<double> sums_;  // of runs
};

// Numbers of this machine's memory.
template <typename T>
struct PlainNumbers {
  T* data = nullptr;
  std::int64_t count = 0;

  std::int64_t size() const { return count; }
  bool empty() const { return count == 0; }
  T Read(std::int64_t i) const { return data[i]; }
  void Write(std::int64_t i, T value) const { data[i] = value; }
  T AtomicAdd(std::int64_t i, T value) const {
    const T before = data[i];
    data[i] = before + value;
    return before;
  }
};

#endif  // __CUDACC__

}  // namespace banyan

#endif  // BANYAN_CORE_ROUND_WORKERS_H_
