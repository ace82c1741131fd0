// What kernel.h says, for nvcc. Each is one instruction, or a few.
#ifndef BANYAN_CORE_DEVICE_CUDA_NVIDIA_KERNEL_INL_H_
#define BANYAN_CORE_DEVICE_CUDA_NVIDIA_KERNEL_INL_H_

#include <cuda_runtime.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "core/device/cuda/device.h"
#include "core/device/cuda/pack.h"
#include "core/device/cuda/span.h"

#define BANYAN_DEVICE __device__ __forceinline__
#define BANYAN_UNROLL _Pragma("unroll")
#define BANYAN_UNROLL_TWO _Pragma("unroll 2")
#define BANYAN_ROLL _Pragma("unroll 1")

namespace banyan {

// The stream of a device made by the CUDA runtime, for what launches on it.
class NvidiaStream {
 public:
  // The device is one of the CUDA runtime's, and outlives this.
  explicit NvidiaStream(CudaDevice& device) : device_(device) {}

  cudaStream_t native() const;
  // Keeps the first error, which the device's Finish tells.
  void Check(cudaError_t error, const char* what) const;
  // Whether launches may be set up early: from capability 9.0 on.
  bool starts_early() const;

 private:
  CudaDevice& device_;
};

namespace on_nvidia {

template <typename T>
class Numbers {
 public:
  using Plain = std::remove_const_t<T>;

  Numbers() = default;
  __host__ __device__ Numbers(T* data, std::int64_t size)
      : data_(data), size_(size) {}

  BANYAN_DEVICE std::int64_t size() const { return size_; }
  BANYAN_DEVICE bool empty() const { return size_ == 0; }
  BANYAN_DEVICE Plain Read(std::int64_t i) const { return data_[i]; }
  BANYAN_DEVICE void Write(std::int64_t i, Plain value) const {
    data_[i] = value;
  }
  template <int kCount>
  BANYAN_DEVICE Pack<Plain, kCount> ReadPack(std::int64_t i) const {
    return *reinterpret_cast<const Pack<Plain, kCount>*>(data_ + i);
  }
  template <int kCount>
  BANYAN_DEVICE void WritePack(std::int64_t i,
                               const Pack<Plain, kCount>& pack) const {
    *reinterpret_cast<Pack<Plain, kCount>*>(data_ + i) = pack;
  }
  // For copies ahead.
  BANYAN_DEVICE T* At(std::int64_t i) const { return data_ + i; }
  BANYAN_DEVICE Plain AtomicAdd(std::int64_t i, Plain value) const {
    return atomicAdd(data_ + i, value);
  }

 private:
  T* data_ = nullptr;
  std::int64_t size_ = 0;
};

template <typename T>
class Global : public Numbers<T> {
 public:
  Global() = default;
  Global(CudaDevice& /*device*/, DeviceSpan span)
      : Numbers<T>(reinterpret_cast<T*>(span.data),
                   static_cast<std::int64_t>(span.bytes / sizeof(T))) {}
};

template <typename T>
class Shared : public Numbers<T> {
 public:
  using Numbers<T>::Numbers;

  template <typename From>
  BANYAN_DEVICE void CopyAhead(std::int64_t i, const Numbers<From>& x,
                               std::int64_t first) const {
    static_assert(std::is_same_v<T, std::remove_const_t<From>>);
    static_assert(kAheadBytes == 16);
    asm volatile(
        "cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
            static_cast<std::uint32_t>(__cvta_generic_to_shared(this->At(i)))),
        "l"(__cvta_generic_to_global(x.At(first)))
        : "memory");
  }
};

class Thread {
 public:
  BANYAN_DEVICE int index() const { return static_cast<int>(threadIdx.x); }
  BANYAN_DEVICE int lane() const { return index() % 32; }
  BANYAN_DEVICE int warp() const { return index() / 32; }
  BANYAN_DEVICE int threads() const { return static_cast<int>(blockDim.x); }
  BANYAN_DEVICE int block() const { return static_cast<int>(blockIdx.x); }
  BANYAN_DEVICE int blocks() const { return static_cast<int>(gridDim.x); }

  BANYAN_DEVICE void Sync() const { __syncthreads(); }
  BANYAN_DEVICE void SyncWarp(std::uint32_t mask = kAllLanes) const {
    __syncwarp(mask);
  }

  BANYAN_DEVICE void CommitCopies() const {
    asm volatile("cp.async.commit_group;" ::: "memory");
  }
  template <int kGroups>
  BANYAN_DEVICE void WaitCopies() const {
    asm volatile("cp.async.wait_group %0;" ::"n"(kGroups) : "memory");
  }
  // The launch after this one may be set up from here on: so when that begins,
  // the launch before this one is done.
  BANYAN_DEVICE void AwaitLaunchBefore() const {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
    asm volatile("griddepcontrol.launch_dependents;");
#endif
  }

  template <typename T>
  BANYAN_DEVICE Shared<T> SharedArray(int first_byte,
                                      std::int64_t count) const {
    extern __shared__ __align__(16) unsigned char banyan_shared[];
    return Shared<T>(reinterpret_cast<T*>(banyan_shared + first_byte), count);
  }

  template <typename T>
  BANYAN_DEVICE T ShuffleXor(T value, int lanes,
                             std::uint32_t mask = kAllLanes) const {
    return __shfl_xor_sync(mask, value, lanes);
  }
  template <typename T>
  BANYAN_DEVICE T ShuffleFrom(T value, int lane,
                              std::uint32_t mask = kAllLanes) const {
    return __shfl_sync(mask, value, lane);
  }
  BANYAN_DEVICE std::uint32_t Ballot(bool vote,
                                     std::uint32_t mask = kAllLanes) const {
    return __ballot_sync(mask, vote);
  }

  BANYAN_DEVICE void Multiply(const std::array<std::uint32_t, 4>& a,
                              const std::array<std::uint32_t, 2>& b,
                              std::array<float, 4>& c) const {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
        "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
  BANYAN_DEVICE void MultiplyBytes(const std::array<std::uint32_t, 4>& a,
                                   const std::array<std::uint32_t, 2>& b,
                                   std::array<std::int32_t, 4>& c) const {
    asm volatile(
        "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 "
        "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
};

template <typename Kernel>
__global__ void Run(const __grid_constant__ Kernel kernel) {
  kernel(Thread());
}
// With registers for one such block of a multiprocessor, so that loads can be
// under way together.
template <typename Kernel>
__global__ void __launch_bounds__(Kernel::kMostThreads, 1)
    RunBounded(const __grid_constant__ Kernel kernel) {
  kernel(Thread());
}

template <typename Kernel>
constexpr auto Entry() {
  if constexpr (requires { Kernel::kMostThreads; })
    return RunBounded<Kernel>;
  else
    return Run<Kernel>;
}

template <typename Kernel>
void Launch(CudaDevice& device, LaunchShape shape, const Kernel& kernel) {
  const NvidiaStream stream(device);
  if constexpr (requires { Kernel::kAwaits; })
    shape.early = Kernel::kAwaits && device.early();
  // Asked for once, and not at every launch.
  static std::atomic<int> allowed = 48 << 10;
  if (shape.shared_bytes > allowed) {
    stream.Check(
        cudaFuncSetAttribute(Entry<Kernel>(),
                             cudaFuncAttributeMaxDynamicSharedMemorySize,
                             shape.shared_bytes),
        Kernel::kName);
    allowed = shape.shared_bytes;
  }
  cudaLaunchAttribute early = {};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = static_cast<unsigned>(shape.blocks);
  config.blockDim = static_cast<unsigned>(shape.threads);
  config.dynamicSmemBytes = static_cast<std::size_t>(shape.shared_bytes);
  config.stream = stream.native();
  config.attrs = &early;
  config.numAttrs = shape.early && stream.starts_early() ? 1 : 0;
  stream.Check(cudaLaunchKernelEx(&config, Entry<Kernel>(), kernel),
               Kernel::kName);
}

}  // namespace on_nvidia

}  // namespace banyan

#endif  // BANYAN_CORE_DEVICE_CUDA_NVIDIA_KERNEL_INL_H_
