// Gauge: what a device can do at most, measured as its backend uses it (the
// same threads and instruction set), so that a kernel's time can be told as a
// share.
#ifndef BANYAN_CORE_OPS_GAUGE_H_
#define BANYAN_CORE_OPS_GAUGE_H_

#include "absl/status/statusor.h"
#include "core/ops/weight.h"

namespace banyan {

// Made by Backend::NewGauge with the number of bytes that bandwidth is read
// from: small enough for a cache it measures the cache. Each call is one
// measurement of at least a few milliseconds, of work that is finished.
class Gauge {
 public:
  virtual ~Gauge() = default;

  // Bytes a second of a plain read of the buffer, again and again.
  virtual absl::StatusOr<double> ReadBandwidth() = 0;
  // Operations a second, a multiplication and an addition each, of the kind
  // that products with weights of this format are made of.
  virtual absl::StatusOr<double> Peak(WeightFormat format) = 0;
};

}  // namespace banyan

#endif  // BANYAN_CORE_OPS_GAUGE_H_
