// One block of threads on the host: fibres of one thread of this machine, which
// take turns in an order that is drawn anew at every barrier.
#ifndef BANYAN_CORE_DEVICE_CUDA_HOST_BLOCK_H_
#define BANYAN_CORE_DEVICE_CUDA_HOST_BLOCK_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "core/device/cuda/host_memory.h"
#include "core/device/cuda/tensor_core.h"

namespace banyan {

class HostBlock;

// A copy from the device's memory to the block's, which a thread asked for.
struct HostCopy {
  HostMemory* to = nullptr;
  std::size_t to_first = 0;
  HostMemory* from = nullptr;
  std::size_t from_first = 0;
};

// What the threads of a warp do together. Each lane brings `in` and gets `out`.
struct WarpWork {
  const char* name = nullptr;
  // Lane i's of both at [i]; null where it takes no part.
  void (*work)(const void* const* in, void* const* out,
               std::uint32_t mask) = nullptr;
  // Of the call, which is one instruction to the lanes. (Clang 14 has no
  // std::source_location, so two calls in a line are one place.)
  int line = 0;
};

// What a kernel's thread asks its block for.
class HostThread {
 public:
  int index() const { return moment_.thread; }
  const ThreadMoment& moment() const { return moment_; }
  HostBlock& block() const { return *block_; }

  // All threads of the block.
  void Barrier();
  // The lanes of `mask` of its warp, itself among them. With all lanes it is a
  // barrier between them.
  void Together(const WarpWork& work, std::uint32_t mask, const void* in,
                void* out);
  void WarpBarrier(std::uint32_t mask, int line);
  // Copies ahead (kernel.h), of kAheadBytes bytes each.
  void Copy(const HostCopy& copy);
  void CommitCopies();
  // Until at most this many groups are under way.
  void WaitCopies(int groups);
  void AwaitLaunchBefore();
  // Ends the block.
  [[noreturn]] static void Fault(std::string what);
  [[noreturn]] static void FaultOutside(std::int64_t first, std::int64_t count,
                                        std::int64_t size);
  [[noreturn]] static void FaultUnaligned(std::int64_t first,
                                          std::int64_t bytes);
  [[noreturn]] static void FaultLane(int lane, int from);

  // The one whose turn it is; there is one while a kernel runs.
  static HostThread& Running() { return *running_; }
  // For LaunchTraffic.
  inline void CountLoad(const HostMemory& memory, std::size_t first,
                        std::size_t bytes);
  inline void CountStore(const HostMemory& memory, std::size_t first,
                         std::size_t bytes);

 private:
  friend class HostBlock;
  enum class State { kReady, kAtBarrier, kInWarp, kDone };

  // A thread of a new block.
  void Begin(HostBlock* block);
  // Faults for what a thread owes when its kernel returns.
  void End();
  // Here no load moves from after to before, whatever a compiler does.
  void Fence();
  void CountSectors(const HostMemory& memory, std::size_t first,
                    std::size_t bytes);

  static inline constinit thread_local HostThread* running_ = nullptr;

  HostBlock* block_ = nullptr;
  ThreadMoment moment_;
  State state_ = State::kReady;
  std::uint32_t mask_ = 0;  // while in a warp
  WarpWork work_;
  const void* in_ = nullptr;
  void* out_ = nullptr;
  // Under way from copies_[arrived_] on, the earliest first; of each group that
  // is under way, from committed_[ended_] on, how many it has.
  std::vector<HostCopy> copies_;
  std::vector<std::size_t> committed_;
  std::size_t arrived_ = 0;
  std::size_t ended_ = 0;
  std::size_t open_ = 0;            // that are in no group yet
  std::size_t most_under_way_ = 0;  // copies
  int waits_ = 0;
  int trips_ = 0;
  bool has_loaded_ = false;  // since the last fence
  // How often the lanes have met, and how often this one has accessed since.
  std::uint32_t meetings_ = 0;
  std::uint32_t accesses_ = 0;
};

// What a launch moved, as its threads asked for it.
struct LaunchTraffic {
  int launches = 0;
  std::uint64_t loaded = 0;  // bytes of the device's memory
  std::uint64_t stored = 0;
  // Of the block that had the most: bytes of copies ahead that its threads had
  // under way at once, and how often a thread waited for some.
  std::uint64_t ahead = 0;
  int waits = 0;
  // Pieces of 32 bytes, each counted once a load or store of a warp; only where
  // HostDeviceOptions ask for it.
  std::uint64_t sectors = 0;
  // In how many parts of its work, parted by barriers and waits, a thread
  // loaded: the loads of each wait for those of the one before. Of the thread
  // that had the most in a launch.
  int trips = 0;

  // Of another launch after this one.
  void Add(const LaunchTraffic& next);
  // Of the first ones.
  void Take(const LaunchTraffic& first);
};

// Runs blocks one after the other. Keeps its fibres.
class HostBlock {
 public:
  // The order of threads follows from `seed`.
  explicit HostBlock(std::uint64_t seed);
  ~HostBlock();

  struct Launch {
    std::string kernel;
    std::uint32_t number = 0;
    int blocks = 1;
    int threads = 32;
    int shared_bytes = 0;
    bool early = false;
    TensorCore core = {};
    bool count_sectors = false;
    LaunchTraffic* traffic = nullptr;  // of this launch
  };
  // Internal with the kernel, block and thread of the first fault.
  absl::Status Run(const Launch& launch, int block,
                   absl::FunctionRef<void(HostThread&)> kernel);

  // Of the block that runs.
  const Launch& launch() const { return *launch_; }
  HostMemory& shared() { return *shared_; }

 private:
  friend class HostThread;
  struct Fibres;
  // Lanes of a warp that came to some work of theirs, and which it waits for.
  struct Gathering {
    WarpWork work;
    std::uint32_t mask = 0;
    std::uint32_t here = 0;
  };

  void Shuffle(std::vector<int>& threads);
  // A fibre that runs one thread of each block from now on.
  void Start(int thread);
  // Whose turn it is; nobody's when the block is done or has failed.
  int Next();
  // The others' turn, until it is this thread's again.
  void Yield(const HostThread& thread);
  // Does what lanes have gathered for if `last` was the last to come.
  void TryWarp(const HostThread& last);
  void TryBarrier();
  void Fail(const HostThread& thread, const std::string& what);

  std::uint64_t state_;
  const Launch* launch_ = nullptr;
  std::unique_ptr<HostMemory> shared_;
  // Of a warp's load or store: the warp, the lanes' meetings, the access.
  using Access = std::array<std::uint32_t, 3>;
  absl::flat_hash_set<std::tuple<const HostMemory*, std::size_t, Access>>
      sectors_;
  std::vector<HostThread> threads_;
  std::vector<int> ready_;                          // taken from the back
  std::vector<std::vector<Gathering>> gatherings_;  // by warp
  const absl::FunctionRef<void(HostThread&)>* kernel_ = nullptr;
  absl::Status status_;
  bool ends_ = false;
  std::unique_ptr<Fibres> fibres_;
};

void HostThread::CountLoad(const HostMemory& memory, std::size_t first,
                           std::size_t bytes) {
  if (&memory == block_->shared_.get()) return;
  block_->launch_->traffic->loaded += bytes;
  has_loaded_ = true;
  CountSectors(memory, first, bytes);
}

void HostThread::CountStore(const HostMemory& memory, std::size_t first,
                            std::size_t bytes) {
  if (&memory == block_->shared_.get()) return;
  block_->launch_->traffic->stored += bytes;
  CountSectors(memory, first, bytes);
}

}  // namespace banyan

#endif  // BANYAN_CORE_DEVICE_CUDA_HOST_BLOCK_H_
