// Probe: what this machine can do at most, measured with a backend's own
// threads and instruction set, so that a kernel's time can be told as a share.
#ifndef BANYAN_CORE_OPS_PROBE_H_
#define BANYAN_CORE_OPS_PROBE_H_

#include <cstddef>
#include <memory>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "core/base/clock.h"
#include "core/device/host_buffer.h"
#include "core/ops/cpu_backend.h"

namespace banyan {

class Probe {
 public:
  // `bytes` is what bandwidth is read from: small enough for a cache it
  // measures the cache. Fails if there is no memory.
  static absl::StatusOr<Probe> Create(CpuBackend& backend, std::size_t bytes,
                                      const Clock& clock);

  // One measurement, all threads: bytes a second of a plain read of the buffer,
  // again and again for at least a few milliseconds.
  double ReadBandwidth();
  // Operations a second, a multiplication and an addition each: 32-bit fused
  // multiply-adds, and the 8-bit products of Linear's kQ8, from registers.
  double F32Peak();
  double Int8Peak();

 private:
  Probe(CpuBackend& backend, std::unique_ptr<HostBuffer> buffer,
        const Clock& clock);

  double Measure(double amount,
                 absl::FunctionRef<bool(int, std::size_t)> piece);

  CpuBackend& backend_;
  std::unique_ptr<HostBuffer> buffer_;
  const Clock& clock_;
};

}  // namespace banyan

#endif  // BANYAN_CORE_OPS_PROBE_H_
