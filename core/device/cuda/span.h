// DeviceSpan: a part of a device's memory, for host code that passes it on.
#ifndef BANYAN_CORE_DEVICE_CUDA_SPAN_H_
#define BANYAN_CORE_DEVICE_CUDA_SPAN_H_

#include <cstddef>

namespace banyan {

// The host must not dereference `data`. Kernels read and write the span as a
// Global<T> (kernel.h).
struct DeviceSpan {
  std::byte* data = nullptr;
  std::size_t bytes = 0;

  // Requires that it lies within.
  DeviceSpan Part(std::size_t first, std::size_t count) const {
    return {data + first, count};
  }
};

// `blocks` blocks, at least one, of `threads` threads, in whole warps. The
// threads of a block share `shared_bytes` of memory.
struct LaunchShape {
  static constexpr int kMostThreads = 1024;
  // What a block of capability 8.0 has, and of the smallest GPU meant
  // here, 8.6.
  static constexpr int kMostSharedBytes = 163 << 10;
  static constexpr int kLeastSharedBytes = 99 << 10;

  int blocks = 1;
  int threads = 32;
  int shared_bytes = 0;
  // Whether it is set up while the launch before it still runs. Its threads
  // then say where they wait for that one (AwaitLaunchBefore in kernel.h).
  bool early = false;
};

}  // namespace banyan

#endif  // BANYAN_CORE_DEVICE_CUDA_SPAN_H_
