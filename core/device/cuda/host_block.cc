#include "core/device/cuda/host_block.h"

#include <boost/context/fiber.hpp>
#include <boost/context/preallocated.hpp>
#include <boost/context/stack_context.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/base/check.h"
#include "core/device/cuda/host_memory.h"

#if defined(__SANITIZE_ADDRESS__)
#define BANYAN_TELLS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define BANYAN_TELLS_SANITIZER 1
#endif
#endif
#ifdef BANYAN_TELLS_SANITIZER
#include <sanitizer/common_interface_defs.h>
#endif

namespace banyan {
namespace {

namespace context = boost::context;

constexpr int kWarp = 32;
// Kernels keep little on their stacks; sanitizers and gdb want more.
constexpr std::size_t kStackBytes = std::size_t{256} << 10;

thread_local HostThread* running = nullptr;

// Stacks are this file's, so fibres free none.
struct NoStacks {
  context::stack_context allocate() { return {}; }
  void deallocate(context::stack_context& /*stack*/) {}
};

// The address sanitizer is told of every change of stacks.
struct Switch {
  void* fake = nullptr;
  const void* bottom = nullptr;
  std::size_t size = 0;

  // On the stack that is left; `ends`: for good.
  void Leave([[maybe_unused]] const Switch& to, [[maybe_unused]] bool ends) {
#ifdef BANYAN_TELLS_SANITIZER
    __sanitizer_start_switch_fiber(ends ? nullptr : &fake, to.bottom, to.size);
#endif
  }
  // On this stack again, or for the first time; `from` learns where it is.
  void Arrive([[maybe_unused]] Switch& from) {
#ifdef BANYAN_TELLS_SANITIZER
    __sanitizer_finish_switch_fiber(fake, &from.bottom, &from.size);
#endif
  }
};

}  // namespace

struct HostBlock::Fibres {
  struct One {
    std::unique_ptr<std::byte[]> stack;
    context::fiber self;
    Switch place;
  };
  std::vector<One> of;
  context::fiber loop;  // while a thread runs
  Switch loop_place;
};

void HostThread::Fault(std::string what) { throw MemoryFault{std::move(what)}; }

void HostThread::FaultOutside(std::int64_t first, std::int64_t count,
                              std::int64_t size) {
  Fault(absl::StrCat("accesses numbers ", first, " to ", first + count - 1,
                     " of ", size));
}

void HostThread::FaultUnaligned(std::int64_t first, std::int64_t bytes) {
  Fault(absl::StrCat("accesses ", bytes, " bytes at once at number ", first,
                     ", which does not stand at a multiple of them"));
}

void HostThread::FaultLane(int lane, int from) {
  Fault(absl::StrCat("shuffle: lane ", lane, " asks lane ", from,
                     ", which takes no part"));
}

HostThread& HostThread::Running() { return *running; }

void HostThread::CountLoad(const HostMemory& memory, std::size_t bytes) {
  if (&memory != block_->shared_.get())
    block_->launch_->traffic->loaded += bytes;
}

void HostThread::CountStore(const HostMemory& memory, std::size_t bytes) {
  if (&memory != block_->shared_.get())
    block_->launch_->traffic->stored += bytes;
}

void HostThread::Barrier() {
  state_ = State::kAtBarrier;
  block_->Yield(*this);
}

void HostThread::Together(const WarpWork& work, std::uint32_t mask,
                          const void* in, void* out) {
  if ((mask >> (index() % kWarp) & 1) == 0)
    Fault(absl::StrCat(work.name, ": is not among the lanes it names, ",
                       absl::Hex(mask)));
  state_ = State::kInWarp;
  work_ = work;
  mask_ = mask;
  in_ = in;
  out_ = out;
  block_->TryWarp(*this);
  // The last lane to come goes on at once.
  if (state_ == State::kInWarp) block_->Yield(*this);
}

void HostThread::WarpBarrier(std::uint32_t mask) {
  Together({"warp barrier", nullptr}, mask, nullptr, nullptr);
}

HostBlock::HostBlock(std::uint64_t seed)
    : state_(seed), fibres_(std::make_unique<Fibres>()) {}

HostBlock::~HostBlock() = default;

// Fisher and Yates', with the numbers of splitmix64.
void HostBlock::Shuffle(std::vector<int>& threads) {
  for (std::size_t i = threads.size(); i > 1; --i) {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    std::swap(threads[i - 1], threads[(z ^ (z >> 31)) % i]);
  }
}

void HostBlock::Fail(const HostThread& thread, const std::string& what) {
  if (!status_.ok()) return;
  status_ = absl::InternalError(
      absl::StrCat("kernel ", launch_->kernel, ", block ", thread.moment_.block,
                   ", thread ", thread.moment_.thread, ": ", what));
}

void HostBlock::Yield(HostThread& thread) {
  Fibres::One& fibre = fibres_->of[static_cast<std::size_t>(thread.index())];
  fibre.place.Leave(fibres_->loop_place, false);
  fibres_->loop = std::move(fibres_->loop).resume();
  fibre.place.Arrive(fibres_->loop_place);
  // The block has failed elsewhere: this thread ends here.
  if (!status_.ok()) HostThread::Fault("");
}

void HostBlock::Start(int number, absl::FunctionRef<void(HostThread&)> kernel) {
  const auto i = static_cast<std::size_t>(number);
  Fibres::One& fibre = fibres_->of[i];
  HostThread& thread = threads_[i];
  context::stack_context stack;
  stack.sp = fibre.stack.get() + kStackBytes;
  stack.size = kStackBytes;
  fibre.place = {nullptr, fibre.stack.get(), kStackBytes};
  fibre.self = context::fiber(
      std::allocator_arg, context::preallocated(stack.sp, stack.size, stack),
      NoStacks(), [this, &fibre, &thread, kernel](context::fiber&& loop) {
        fibre.place.Arrive(fibres_->loop_place);
        fibres_->loop = std::move(loop);
        try {
          if (status_.ok()) kernel(thread);
        } catch (const MemoryFault& fault) {
          Fail(thread, fault.what);
        }
        thread.state_ = HostThread::State::kDone;
        fibre.place.Leave(fibres_->loop_place, true);
        return std::move(fibres_->loop);
      });
}

void HostBlock::TryWarp(const HostThread& last) {
  const std::size_t first =
      static_cast<std::size_t>(last.index() / kWarp) * kWarp;
  const std::uint32_t mask = last.mask_;
  const WarpWork work = last.work_;
  bool all = true;
  for (std::size_t lane = 0; lane < kWarp; ++lane) {
    const HostThread& thread = threads_[first + lane];
    if ((mask >> lane & 1) == 0) continue;
    if (thread.state_ != HostThread::State::kInWarp)
      all = false;
    else if (thread.mask_ != mask || thread.work_.work != work.work)
      HostThread::Fault(absl::StrCat(
          work.name, " of lanes ", absl::Hex(mask), ": thread ", thread.index(),
          " is at ", thread.work_.name, " of lanes ", absl::Hex(thread.mask_)));
  }
  if (!all) return;
  const void* in[kWarp] = {};
  void* out[kWarp] = {};
  for (std::size_t lane = 0; lane < kWarp; ++lane) {
    HostThread& thread = threads_[first + lane];
    if ((mask >> lane & 1) == 0) continue;
    in[lane] = thread.in_;
    out[lane] = thread.out_;
    thread.state_ = HostThread::State::kReady;
    if (work.work == nullptr && mask == ~std::uint32_t{0})
      ++thread.moment_.warp_barriers;
  }
  if (work.work != nullptr) work.work(in, out, mask);
  // The last one is not asleep; the others go on after it.
  for (std::size_t lane = kWarp; lane-- > 0;)
    if ((mask >> lane & 1) != 0 && &threads_[first + lane] != &last)
      ready_.push_back(static_cast<int>(first + lane));
}

void HostBlock::TryBarrier() {
  const HostThread* waits = nullptr;
  const HostThread* warp = nullptr;
  const HostThread* done = nullptr;
  for (const HostThread& thread : threads_) {
    if (thread.state_ == HostThread::State::kAtBarrier) waits = &thread;
    if (thread.state_ == HostThread::State::kInWarp) warp = &thread;
    if (thread.state_ == HostThread::State::kDone) done = &thread;
  }
  if (warp != nullptr) {
    Fail(*warp,
         absl::StrCat(warp->work_.name, " of lanes ", absl::Hex(warp->mask_),
                      ": not all of them come to it"));
    return;
  }
  if (waits == nullptr) return;
  if (done != nullptr) {
    Fail(*waits, absl::StrCat("waits at a barrier that thread ", done->index(),
                              " has ended without"));
    return;
  }
  for (HostThread& thread : threads_) {
    ++thread.moment_.barriers;
    thread.state_ = HostThread::State::kReady;
    ready_.push_back(thread.index());
  }
  Shuffle(ready_);
}

absl::Status HostBlock::Run(const Launch& launch, int block,
                            absl::FunctionRef<void(HostThread&)> kernel) {
  launch_ = &launch;
  status_ = absl::OkStatus();
  const auto threads = static_cast<std::size_t>(launch.threads);
  if (fibres_->of.size() < threads) fibres_->of.resize(threads);
  threads_.assign(threads, HostThread());
  ready_.resize(threads);
  std::iota(ready_.begin(), ready_.end(), 0);
  if (shared_ == nullptr ||
      shared_->bytes() != static_cast<std::size_t>(launch.shared_bytes))
    shared_ = std::make_unique<HostMemory>(
        "shared memory", static_cast<std::size_t>(launch.shared_bytes));
  else
    shared_->Poison();
  for (std::size_t i = 0; i < threads; ++i) {
    if (fibres_->of[i].stack == nullptr)
      fibres_->of[i].stack.reset(new std::byte[kStackBytes]);
    threads_[i].block_ = this;
    threads_[i].moment_ = {.launch = launch.number,
                           .block = static_cast<std::uint32_t>(block),
                           .thread = static_cast<std::uint16_t>(i)};
    Start(static_cast<int>(i), kernel);
  }
  Shuffle(ready_);
  const auto resume = [this](std::size_t i) {
    Fibres::One& fibre = fibres_->of[i];
    running = &threads_[i];
    fibres_->loop_place.Leave(fibre.place, false);
    fibre.self = std::move(fibre.self).resume();
    fibres_->loop_place.Arrive(fibre.place);
  };
  while (status_.ok()) {
    if (ready_.empty()) TryBarrier();
    if (ready_.empty()) break;
    const int next = ready_.back();
    ready_.pop_back();
    resume(static_cast<std::size_t>(next));
  }
  // Threads that a failure leaves behind end by the exception it throws.
  for (std::size_t i = 0; i < threads; ++i)
    if (threads_[i].state_ != HostThread::State::kDone) resume(i);
  return status_;
}

}  // namespace banyan
