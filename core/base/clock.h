// Clock: where time comes from. Passed to what measures; nothing else knows the
// time.
#ifndef BANYAN_CORE_BASE_CLOCK_H_
#define BANYAN_CORE_BASE_CLOCK_H_

#include <chrono>
#include <cstdint>

namespace banyan {

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

}  // namespace banyan

#endif  // BANYAN_CORE_BASE_CLOCK_H_
