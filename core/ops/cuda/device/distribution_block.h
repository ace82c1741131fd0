// A block's threads as a round's workers (core/round/workers.h).
#ifndef BANYAN_CORE_OPS_CUDA_DEVICE_DISTRIBUTION_BLOCK_H_
#define BANYAN_CORE_OPS_CUDA_DEVICE_DISTRIBUTION_BLOCK_H_

#include <cmath>
#include <cstdint>

#include "core/base/draw_math.h"
#include "core/device/cuda/kernel.h"
#include "core/round/workers.h"

namespace banyan::BANYAN_MAKER {

// Threads of a block: a few of a small vocabulary's are enough.
constexpr int DistributionThreads(int vocab) {
  return vocab >= 512 ? 512 : (vocab + 31) / 32 * 32;
}

// Bytes of shared memory: a sum, a largest number and its place for each run;
// one run; and what one thread tells the others.
constexpr int DistributionSharedBytes(int vocab) {
  return SumRuns(vocab) * 24 + kSumRun * 8 + 64;
}

class DistributionBlock {
 public:
  BANYAN_DEVICE DistributionBlock(const Thread& t, int vocab)
      : t_(t),
        vocab_(vocab),
        runs_(SumRuns(vocab)),
        sums_(t.SharedArray<double>(0, runs_)),
        best_(t.SharedArray<double>(runs_ * 8, runs_)),
        best_at_(t.SharedArray<std::int32_t>(runs_ * 16, runs_)),
        stage_(t.SharedArray<double>(runs_ * 24, kSumRun)),
        told_(t.SharedArray<double>(runs_ * 24 + kSumRun * 8, 4)),
        told_at_(
            t.SharedArray<std::int32_t>(runs_ * 24 + kSumRun * 8 + 32, 8)) {}

  BANYAN_DEVICE int index() const { return t_.index(); }
  BANYAN_DEVICE int count() const { return t_.threads(); }
  BANYAN_DEVICE void Sync() const { t_.Sync(); }

  template <typename Load, typename Make, typename Note>
  BANYAN_DEVICE void EachRun(int begin, int end, const Load& load,
                             const Make& make, const Note& note) const {
    for (int run = begin; run < end; run += t_.threads() / kSumLanes)
      OfRun(run + t_.index() / kSumLanes, end, load, make, note);
  }
  template <typename SumOf>
  BANYAN_DEVICE double TotalOf(const SumOf& sum) const {
    t_.Sync();  // what stood there has been read
    for (int run = t_.index(); run < runs_; run += t_.threads())
      sums_.Write(run, sum(run));
    return Total();
  }
  template <typename LargestOf>
  BANYAN_DEVICE Largest BestOf(const LargestOf& best) const {
    t_.Sync();
    for (int run = t_.index(); run < runs_; run += t_.threads()) {
      KeepBest{*this}(run, 0, best(run));
    }
    return BestOfRuns();
  }
  template <typename Value>
  BANYAN_DEVICE double Sum(const Value& value) const {
    t_.Sync();
    EachRun(0, runs_, value, Itself(), KeepSum{sums_});
    return Total();
  }
  template <typename Value>
  BANYAN_DEVICE double SumAgain(int place, const Value& value) const {
    t_.Sync();
    OfRun(RunAgain(place), runs_, value, Itself(), KeepSum{sums_});
    return Total();
  }
  template <typename Value>
  BANYAN_DEVICE int Place(double limit, const Value& value) const {
    if (t_.index() == 0) {
      double before = 0;
      told_at_.Write(
          0, FirstAbove(
                 limit, 0, runs_, [this](int run) { return sums_.Read(run); },
                 before));
      told_.Write(1, before);
    }
    t_.Sync();
    const int begin = told_at_.Read(0) * kSumRun;
    const int size = vocab_ - begin < kSumRun ? vocab_ - begin : kSumRun;
    for (int i = t_.index(); i < size; i += t_.threads())
      stage_.Write(i, value(begin + i));
    t_.Sync();
    if (t_.index() == 0) {
      double before = told_.Read(1);
      told_at_.Write(
          1, begin + FirstAbove(
                         limit, 0, size,
                         [this](int i) { return stage_.Read(i); }, before));
    }
    t_.Sync();
    return told_at_.Read(1);
  }

  template <typename Value>
  BANYAN_DEVICE Largest Best(const Value& value) const {
    t_.Sync();
    EachRun(0, runs_, value, Itself(), KeepBest{*this});
    return BestOfRuns();
  }
  template <typename Value>
  BANYAN_DEVICE Largest BestAgain(int place, const Value& value) const {
    t_.Sync();
    OfRun(RunAgain(place), runs_, value, Itself(), KeepBest{*this});
    return BestOfRuns();
  }

  BANYAN_DEVICE double Tell(double number) const {
    t_.Sync();
    if (t_.index() == 0) told_.Write(2, number);
    t_.Sync();
    return told_.Read(2);
  }

 private:
  static constexpr int kAhead = 8;  // numbers that a thread asks for at once

  struct Itself {
    BANYAN_DEVICE double operator()(int /*place*/, double number) const {
      return number;
    }
  };
  struct KeepSum {
    const Shared<double>& sums;
    BANYAN_DEVICE void operator()(int run, double sum, Largest /*best*/) const {
      sums.Write(run, sum);
    }
  };
  struct KeepBest {
    const DistributionBlock& of;
    BANYAN_DEVICE void operator()(int run, double /*sum*/, Largest best) const {
      of.best_.Write(run, best.number);
      of.best_at_.Write(run, best.place);
    }
  };
  // The first threads do a place's run, the others none.
  BANYAN_DEVICE int RunAgain(int place) const {
    return t_.index() < kSumLanes ? place / kSumRun : runs_;
  }

  // By kSumLanes threads; all of a warp come along, some for no run.
  template <typename Load, typename Make, typename Note>
  BANYAN_DEVICE void OfRun(int run, int end, const Load& load, const Make& make,
                           const Note& note) const {
    const int lane = t_.lane() % kSumLanes;
    double own = 0;
    Largest best;
    if (run < end) {
      const int after = run * kSumRun + kSumRun;
      const int stop = after < vocab_ ? after : vocab_;
      for (int first = run * kSumRun + lane; first < stop;
           first += kAhead * kSumLanes) {
        decltype(load(0)) loaded[kAhead];
        for (int k = 0; k < kAhead; ++k)
          if (first + k * kSumLanes < stop)
            loaded[k] = load(first + k * kSumLanes);
        for (int k = 0; k < kAhead; ++k) {
          const int i = first + k * kSumLanes;
          if (i >= stop) break;
          const double number = make(i, loaded[k]);
          own += number;
          best.Take(number, i);
        }
      }
    }
    double sum = 0;
    for (int k = 0; k < kSumLanes; ++k)
      sum += t_.ShuffleFrom(own, t_.lane() / kSumLanes * kSumLanes + k);
    for (int lanes = kSumLanes / 2; lanes > 0; lanes /= 2) {
      const double number = t_.ShuffleXor(best.number, lanes);
      const int place = t_.ShuffleXor(best.place, lanes);
      best.Take(number, place);
    }
    if (run < end && lane == 0) note(run, sum, best);
  }
  BANYAN_DEVICE double Total() const {
    t_.Sync();
    if (t_.index() == 0) {
      double total = 0;
      for (int run = 0; run < runs_; ++run) total += sums_.Read(run);
      told_.Write(0, total);
    }
    t_.Sync();
    return told_.Read(0);
  }
  BANYAN_DEVICE Largest BestOfRuns() const {
    t_.Sync();
    if (t_.warp() == 0) {
      Largest own;
      for (int run = t_.lane(); run < runs_; run += 32)
        own.Take(best_.Read(run), best_at_.Read(run));
      for (int lanes = 16; lanes > 0; lanes /= 2) {
        const double number = t_.ShuffleXor(own.number, lanes);
        const int place = t_.ShuffleXor(own.place, lanes);
        own.Take(number, place);
      }
      if (t_.lane() == 0) {
        told_.Write(3, own.number);
        told_at_.Write(2, own.place);
      }
    }
    t_.Sync();
    Largest largest;
    largest.number = told_.Read(3);
    largest.place = told_at_.Read(2);
    return largest;
  }

  const Thread& t_;
  const int vocab_;
  const int runs_;
  const Shared<double> sums_;
  const Shared<double> best_;
  const Shared<std::int32_t> best_at_;
  const Shared<double> stage_;
  const Shared<double> told_;
  const Shared<std::int32_t> told_at_;
};

}  // namespace banyan::BANYAN_MAKER

#endif  // BANYAN_CORE_OPS_CUDA_DEVICE_DISTRIBUTION_BLOCK_H_
