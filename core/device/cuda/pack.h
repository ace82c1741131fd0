// What both makers of kernels (kernel.h) have alike.
#ifndef BANYAN_CORE_DEVICE_CUDA_PACK_H_
#define BANYAN_CORE_DEVICE_CUDA_PACK_H_

#include <cstdint>

namespace banyan {

inline constexpr std::uint32_t kAllLanes = ~std::uint32_t{0};
// What one copy ahead brings.
inline constexpr int kAheadBytes = 16;

// Numbers that are read or written at once.
template <typename T, int kCount>
struct alignas(sizeof(T) * kCount) Pack {
  T at[kCount];
};

}  // namespace banyan

#endif  // BANYAN_CORE_DEVICE_CUDA_PACK_H_
