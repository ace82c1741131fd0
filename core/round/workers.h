// Who does a step: one thread, or the threads of a device's block, which call
// everything together and get the same results. Workers have
//
//   index(), count()     which of them this is, and how many there are
//   Sync()               all have come here
//
// and, for rows of masses, in the order of core/base/draw_math.h:
//
//   Sum(value)           of value(0) to value(vocab - 1); its runs are kept
//   SumAgain(i, value)   the same, where only numbers of place i's run changed
//   Place(limit, value)  where the kept sum first exceeds the limit
//   Best(value), BestAgain(i, value)   the largest number, the first of equals
//   Least(n)             the least of the workers' numbers
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

#ifndef __CUDACC__

// One thread of this machine.
class OneWorker {
 public:
  explicit OneWorker(int vocab)
      : vocab_(vocab),
        sums_(static_cast<std::size_t>((vocab + kSumRun - 1) / kSumRun)) {}

  static int index() { return 0; }
  static int count() { return 1; }
  static void Sync() {}

  template <typename Value>
  double Sum(const Value& value) const {
    for (int run = 0; run * kSumRun < vocab_; ++run) SumRun(run, value);
    return Total();
  }
  template <typename Value>
  double SumAgain(int place, const Value& value) const {
    SumRun(place / kSumRun, value);
    return Total();
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
  static int Least(int number) { return number; }
  static double Tell(double number) { return number; }

 private:
  int EndOf(int run) const {
    const int end = (run + 1) * kSumRun;
    return end < vocab_ ? end : vocab_;
  }
  template <typename Value>
  void SumRun(int run, const Value& value) const {
    double lanes[kSumLanes] = {};
    for (int i = run * kSumRun; i < EndOf(run); ++i)
      lanes[i % kSumLanes] += value(i);
    sums_[static_cast<std::size_t>(run)] = AddLanes(lanes);
  }
  double Total() const {
    double total = 0;
    for (double sum : sums_) total += sum;
    return total;
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
