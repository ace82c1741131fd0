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

constexpr int SumRuns(int vocab) { return (vocab + kSumRun - 1) / kSumRun; }

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

  template <typename Value>
  BANYAN_DEVICE double Sum(const Value& value) const {
    t_.Sync();  // what stood there has been read
    for (int first = 0; first < runs_; first += t_.threads() / kSumLanes)
      SumRun(first + t_.index() / kSumLanes, value);
    return Total();
  }
  template <typename Value>
  BANYAN_DEVICE double SumAgain(int place, const Value& value) const {
    t_.Sync();
    SumRun(t_.index() < kSumLanes ? place / kSumRun : runs_, value);
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
    for (int first = 0; first < runs_; first += t_.threads() / kSumLanes)
      BestRun(first + t_.index() / kSumLanes, value);
    return BestOfRuns();
  }
  template <typename Value>
  BANYAN_DEVICE Largest BestAgain(int place, const Value& value) const {
    t_.Sync();
    BestRun(t_.index() < kSumLanes ? place / kSumRun : runs_, value);
    return BestOfRuns();
  }

  BANYAN_DEVICE int Least(int own) const {
    for (int lanes = 16; lanes > 0; lanes /= 2) {
      const int other = t_.ShuffleXor(own, lanes);
      own = other < own ? other : own;
    }
    t_.Sync();
    if (t_.lane() == 0) stage_.Write(t_.warp(), own);
    t_.Sync();
    for (int warp = 0; warp < t_.threads() / 32; ++warp) {
      const int other = static_cast<int>(stage_.Read(warp));
      own = other < own ? other : own;
    }
    return own;
  }

  BANYAN_DEVICE double Tell(double number) const {
    t_.Sync();
    if (t_.index() == 0) told_.Write(2, number);
    t_.Sync();
    return told_.Read(2);
  }

 private:
  // By kSumLanes threads; all of a warp come along, some for no run.
  template <typename Value>
  BANYAN_DEVICE void SumRun(int run, const Value& value) const {
    const int lane = t_.lane() % kSumLanes;
    double own = 0;
    if (run < runs_) {
      const int end = run * kSumRun + kSumRun;
      for (int i = run * kSumRun + lane; i < end && i < vocab_; i += kSumLanes)
        own += value(i);
    }
    double sum = 0;
    for (int k = 0; k < kSumLanes; ++k)
      sum += t_.ShuffleFrom(own, t_.lane() / kSumLanes * kSumLanes + k);
    if (run < runs_ && lane == 0) sums_.Write(run, sum);
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
  template <typename Value>
  BANYAN_DEVICE void BestRun(int run, const Value& value) const {
    Largest own;
    if (run < runs_) {
      const int end = run * kSumRun + kSumRun;
      for (int i = run * kSumRun + t_.lane() % kSumLanes; i < end && i < vocab_;
           i += kSumLanes)
        own.Take(value(i), i);
    }
    for (int lanes = kSumLanes / 2; lanes > 0; lanes /= 2) {
      const double number = t_.ShuffleXor(own.number, lanes);
      const int place = t_.ShuffleXor(own.place, lanes);
      own.Take(number, place);
    }
    if (run < runs_ && t_.lane() % kSumLanes == 0) {
      best_.Write(run, own.number);
      best_at_.Write(run, own.place);
    }
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
