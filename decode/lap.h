// Times of what follows each other.
#ifndef BANYAN_DECODE_LAP_H_
#define BANYAN_DECODE_LAP_H_

#include <cstdint>
#include <utility>

#include "core/base/clock.h"

namespace banyan {

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

#endif  // BANYAN_DECODE_LAP_H_
