// What kernel.h says, on the host device.
#ifndef BANYAN_CORE_DEVICE_CUDA_HOST_KERNEL_H_
#define BANYAN_CORE_DEVICE_CUDA_HOST_KERNEL_H_

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

#include "core/base/check.h"
#include "core/device/cuda/host_block.h"
#include "core/device/cuda/host_device.h"
#include "core/device/cuda/host_memory.h"
#include "core/device/cuda/pack.h"
#include "core/device/cuda/span.h"

#define BANYAN_DEVICE inline
#define BANYAN_UNROLL
#define BANYAN_UNROLL_TWO
#define BANYAN_ROLL

namespace banyan::on_host {

template <typename T>
class Shared;

// Numbers of one memory. Every access is the running thread's, and looked at.
template <typename T>
class Numbers {
 public:
  using Plain = std::remove_const_t<T>;

  Numbers() = default;
  Numbers(T* data, std::int64_t size, HostMemory* memory)
      : data_(data), size_(size), memory_(memory) {}

  std::int64_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  Plain Read(std::int64_t i) const { return ReadPack<1>(i).at[0]; }
  void Write(std::int64_t i, Plain value) const {
    WritePack<1>(i, Pack<Plain, 1>{{value}});
  }
  template <int kCount>
  Pack<Plain, kCount> ReadPack(std::int64_t i) const {
    const std::size_t first = Look<kCount>(i);
    HostThread& thread = HostThread::Running();
    memory_->Read(first, sizeof(T) * kCount, thread.moment());
    thread.CountLoad(*memory_, first, sizeof(T) * kCount);
    Pack<Plain, kCount> pack;
    std::memcpy(&pack, data_ + i, sizeof(pack));
    return pack;
  }
  template <int kCount>
  void WritePack(std::int64_t i, const Pack<Plain, kCount>& pack) const {
    static_assert(!std::is_const_v<T>);
    static_assert(sizeof(T) * kCount % HostMemory::kWord == 0,
                  "writes are of whole words");
    const std::size_t first = Look<kCount>(i);
    HostThread& thread = HostThread::Running();
    memory_->Write(first, sizeof(T) * kCount, thread.moment());
    thread.CountStore(*memory_, first, sizeof(T) * kCount);
    std::memcpy(data_ + i, &pack, sizeof(pack));
  }
  // Returns what was there.
  Plain AtomicAdd(std::int64_t i, Plain value) const {
    static_assert(std::is_integral_v<T>, "sums of floats would have no order");
    const std::size_t first = Look<1>(i);
    memory_->Atomic(first, HostThread::Running().moment());
    const Plain before = data_[i];
    data_[i] = before + value;
    return before;
  }

 private:
  template <typename Other>
  friend class Shared;

  // Where number i stands, in bytes.
  template <int kCount>
  std::size_t Look(std::int64_t i) const {
    if (i < 0 || i > size_ - kCount) HostThread::FaultOutside(i, kCount, size_);
    const T* at = data_ + i;
    if (reinterpret_cast<std::uintptr_t>(at) % (sizeof(T) * kCount) != 0)
      HostThread::FaultUnaligned(i, sizeof(T) * kCount);
    return static_cast<std::size_t>(reinterpret_cast<const std::byte*>(at) -
                                    memory_->data());
  }

  T* data_ = nullptr;
  std::int64_t size_ = 0;
  HostMemory* memory_ = nullptr;
};

template <typename T>
class Global : public Numbers<T> {
 public:
  Global() = default;
  // Looked up where kernels are launched.
  Global(CudaDevice& device, DeviceSpan span)
      : Numbers<T>(reinterpret_cast<T*>(span.data),
                   static_cast<std::int64_t>(span.bytes / sizeof(T)),
                   HostDevice::Of(device).Find(span, !std::is_const_v<T>)) {}
};

template <typename T>
class Shared : public Numbers<T> {
 public:
  using Numbers<T>::Numbers;

  // The numbers at `i` become those of `x` at `first`, later.
  template <typename From>
  void CopyAhead(std::int64_t i, const Numbers<From>& x,
                 std::int64_t first) const {
    static_assert(std::is_same_v<T, std::remove_const_t<From>>);
    constexpr int kCount = kAheadBytes / static_cast<int>(sizeof(T));
    HostThread::Running().Copy({.to = this->memory_,
                                .to_first = this->template Look<kCount>(i),
                                .from = x.memory_,
                                .from_first = x.template Look<kCount>(first)});
  }
};

class Thread {
 public:
  explicit Thread(HostThread& thread) : thread_(&thread) {}

  int index() const { return thread_->index(); }
  int lane() const { return index() % 32; }
  int warp() const { return index() / 32; }
  int threads() const { return thread_->block().launch().threads; }
  int block() const { return static_cast<int>(thread_->moment().block); }
  int blocks() const { return thread_->block().launch().blocks; }

  void Sync() const { thread_->Barrier(); }
  // The line is the caller's: lanes do their warp's work at one place.
  void SyncWarp(std::uint32_t mask = kAllLanes,
                int line = __builtin_LINE()) const {
    thread_->WarpBarrier(mask, line);
  }

  void CommitCopies() const { thread_->CommitCopies(); }
  template <int kGroups>
  void WaitCopies() const {
    thread_->WaitCopies(kGroups);
  }
  void AwaitLaunchBefore() const { thread_->AwaitLaunchBefore(); }

  template <typename T>
  Shared<T> SharedArray(int first_byte, std::int64_t count) const {
    HostMemory& memory = thread_->block().shared();
    const auto bytes = static_cast<std::int64_t>(memory.bytes());
    if (first_byte < 0 ||
        first_byte + count * static_cast<std::int64_t>(sizeof(T)) > bytes)
      HostThread::FaultOutside(first_byte, count * sizeof(T), bytes);
    return Shared<T>(reinterpret_cast<T*>(memory.data() + first_byte), count,
                     &memory);
  }

  template <typename T>
  T ShuffleXor(T value, int lanes, std::uint32_t mask = kAllLanes,
               int line = __builtin_LINE()) const {
    return ShuffleFrom(value, lane() ^ lanes, mask, line);
  }
  template <typename T>
  T ShuffleFrom(T value, int lane, std::uint32_t mask = kAllLanes,
                int line = __builtin_LINE()) const {
    struct Bring {
      T value;
      int from;
    };
    const Bring bring = {value, lane};
    T got = {};
    thread_->Together(
        {"shuffle",
         [](const void* const* in, void* const* out, std::uint32_t of) {
           for (int i = 0; i < 32; ++i) {
             if (in[i] == nullptr) continue;
             const int from = static_cast<const Bring*>(in[i])->from;
             if (from < 0 || from > 31 || (of >> from & 1) == 0)
               HostThread::FaultLane(i, from);
             *static_cast<T*>(out[i]) =
                 static_cast<const Bring*>(in[from])->value;
           }
         },
         line},
        mask, &bring, &got);
    return got;
  }
  std::uint32_t Ballot(bool vote, std::uint32_t mask = kAllLanes,
                       int line = __builtin_LINE()) const {
    std::uint32_t votes = 0;
    thread_->Together(
        {"ballot",
         [](const void* const* in, void* const* out, std::uint32_t) {
           std::uint32_t all = 0;
           for (int i = 0; i < 32; ++i)
             if (in[i] != nullptr && *static_cast<const bool*>(in[i]))
               all |= std::uint32_t{1} << i;
           for (int i = 0; i < 32; ++i)
             if (out[i] != nullptr) *static_cast<std::uint32_t*>(out[i]) = all;
         },
         line},
        mask, &vote, &votes);
    return votes;
  }

  // c += a b: 16 x 16 by 16 x 8, bfloat16 pairs, sums in float.
  void Multiply(const std::array<std::uint32_t, 4>& a,
                const std::array<std::uint32_t, 2>& b, std::array<float, 4>& c,
                int line = __builtin_LINE()) const;
  // c += a b: 16 x 32 by 32 x 8, signed bytes, exact.
  void MultiplyBytes(const std::array<std::uint32_t, 4>& a,
                     const std::array<std::uint32_t, 2>& b,
                     std::array<std::int32_t, 4>& c,
                     int line = __builtin_LINE()) const;

 private:
  HostThread* thread_;
};

template <typename Kernel>
void Launch(CudaDevice& device, LaunchShape shape, const Kernel& kernel) {
  if constexpr (requires { Kernel::kMostThreads; })
    Check(shape.threads <= Kernel::kMostThreads, Kernel::kName);
  if constexpr (requires { Kernel::kAwaits; })
    shape.early = Kernel::kAwaits && device.early();
  HostDevice::Of(device).Launch(
      Kernel::kName, shape,
      [kernel](HostThread& thread) { kernel(Thread(thread)); });
}

}  // namespace banyan::on_host

#endif  // BANYAN_CORE_DEVICE_CUDA_HOST_KERNEL_H_
