// Where time comes from, and how long the steps of a round take.
#ifndef BANYAN_CORE_BASE_CLOCK_H_
#define BANYAN_CORE_BASE_CLOCK_H_

#include <chrono>
#include <cstdint>
#include <utility>

namespace banyan {

// Clock: where time comes from. Passed to what measures; nothing else knows the
// time.
class Clock {
 public:
  virtual ~Clock() = default;
  // Nanoseconds since some moment; never less than before.
  virtual std::int64_t NowNs() const = 0;
};

class SteadyClock : public Clock {
 public:
  std::int64_t NowNs() const override {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
};

// Times of what follows each other.

// Nanoseconds since the last call, or since it was made.
class Lap {
 public:
  explicit Lap(const Clock& clock) : clock_(clock), last_(clock.NowNs()) {}
  std::int64_t operator()() {
    const std::int64_t now = clock_.NowNs();
    return now - std::exchange(last_, now);
  }

 private:
  const Clock& clock_;
  std::int64_t last_;
};

}  // namespace banyan

#endif  // BANYAN_CORE_BASE_CLOCK_H_
