#include "core/device/cuda/host_block.h"

#include <algorithm>
#include <bit>
#include <boost/context/fiber.hpp>
#include <boost/context/preallocated.hpp>
#include <boost/context/stack_context.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "core/base/check.h"
#include "core/base/common.h"
#include "core/device/cuda/host_memory.h"
#include "core/device/cuda/pack.h"

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
  static constexpr int kLoop = -1;  // of Run

  struct One {
    std::unique_ptr<std::byte[]> stack;
    context::fiber self;  // while another one runs
    Switch place;
  };

  One& at(int number) {
    return number == kLoop ? loop : of[static_cast<std::size_t>(number)];
  }
  // From the one that runs, until it is switched to again.
  void SwitchTo(int next) {
    const int self = running;
    before = self;
    running = next;
    at(self).place.Leave(at(next).place, false);
    Arrived(std::move(at(next).self).resume());
  }
  // What ran until now is `from`.
  void Arrived(context::fiber from) {
    at(running).place.Arrive(at(before).place);
    at(before).self = std::move(from);
  }

  std::vector<One> of;
  One loop;
  int running = kLoop;
  int before = kLoop;
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

void HostThread::Fence() {
  if (has_loaded_) ++trips_;
  has_loaded_ = false;
}

void HostThread::CountSectors(const HostMemory& memory, std::size_t first,
                              std::size_t bytes) {
  if (!block_->launch_->count_sectors) return;
  constexpr std::size_t kSector = 32;
  const HostBlock::Access access = {static_cast<std::uint32_t>(index() / kWarp),
                                    meetings_, accesses_++};
  for (std::size_t at = first / kSector; at * kSector < first + bytes; ++at)
    block_->sectors_.emplace(&memory, at, access);
}

void LaunchTraffic::Add(const LaunchTraffic& next) {
  launches += next.launches;
  loaded += next.loaded;
  stored += next.stored;
  ahead = std::max(ahead, next.ahead);
  waits = std::max(waits, next.waits);
  sectors += next.sectors;
  trips += next.trips;
}

void LaunchTraffic::Take(const LaunchTraffic& first) {
  launches -= first.launches;
  loaded -= first.loaded;
  stored -= first.stored;
  sectors -= first.sectors;
  trips -= first.trips;
}

void HostThread::Barrier() {
  Fence();
  ++meetings_;
  accesses_ = 0;
  state_ = State::kAtBarrier;
  block_->Yield(*this);
}

void HostThread::Together(const WarpWork& work, std::uint32_t mask,
                          const void* in, void* out) {
  if ((mask >> (index() % kWarp) & 1) == 0)
    Fault(absl::StrCat(work.name, ": is not among the lanes it names, ",
                       absl::Hex(mask)));
  ++meetings_;
  accesses_ = 0;
  state_ = State::kInWarp;
  work_ = work;
  mask_ = mask;
  in_ = in;
  out_ = out;
  block_->TryWarp(*this);
  // The last lane to come goes on at once.
  if (state_ == State::kInWarp) block_->Yield(*this);
}

void HostThread::WarpBarrier(std::uint32_t mask, int line) {
  Fence();
  Together({"warp barrier", nullptr, line}, mask, nullptr, nullptr);
}

void HostThread::Copy(const HostCopy& copy) {
  copy.from->Hold(copy.from_first, kAheadBytes, moment_);
  block_->launch_->traffic->loaded += kAheadBytes;
  CountSectors(*copy.from, copy.from_first, kAheadBytes);
  copy.to->Expect(copy.to_first, kAheadBytes, moment_);
  copies_.push_back(copy);
  most_under_way_ = std::max(most_under_way_, copies_.size() - arrived_);
  ++open_;
}

void HostThread::CommitCopies() {
  committed_.push_back(std::exchange(open_, 0));
}

void HostThread::WaitCopies(int groups) {
  Fence();
  if (committed_.size() - ended_ > static_cast<std::size_t>(groups)) ++waits_;
  while (committed_.size() - ended_ > static_cast<std::size_t>(groups)) {
    for (std::size_t i = 0; i < committed_[ended_]; ++i) {
      const HostCopy& copy = copies_[arrived_++];
      copy.from->LetGo(copy.from_first, kAheadBytes);
      copy.to->Arrived(copy.to_first, kAheadBytes, moment_);
      std::memcpy(copy.to->data() + copy.to_first,
                  copy.from->data() + copy.from_first, kAheadBytes);
    }
    ++ended_;
  }
}

void HostThread::AwaitLaunchBefore() {
  Fence();
  moment_.early = 0;
}

void HostThread::Begin(HostBlock* block) {
  block_ = block;
  state_ = State::kReady;
  copies_.clear();  // whose memory is kept
  committed_.clear();
  arrived_ = ended_ = open_ = most_under_way_ = 0;
  waits_ = trips_ = 0;
  has_loaded_ = false;
  meetings_ = accesses_ = 0;
}

void HostThread::End() {
  Fence();
  if (arrived_ < copies_.size())
    Fault(absl::StrCat("ends with ", copies_.size() - arrived_,
                       " copies under way"));
  if (moment_.early != 0)
    Fault("ends without having awaited the launch before");
}

HostBlock::HostBlock(std::uint64_t seed)
    : state_(seed), fibres_(std::make_unique<Fibres>()) {}

HostBlock::~HostBlock() {
  ends_ = true;
  for (std::size_t i = 0; i < fibres_->of.size(); ++i)
    fibres_->SwitchTo(static_cast<int>(i));
}

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

int HostBlock::Next() {
  if (status_.ok() && ready_.empty()) TryBarrier();
  if (!status_.ok() || ready_.empty()) return Fibres::kLoop;
  const int next = ready_.back();
  ready_.pop_back();
  HostThread::running_ = &threads_[static_cast<std::size_t>(next)];
  return next;
}

void HostBlock::Yield(const HostThread& thread) {
  const int next = Next();
  if (next != thread.index()) fibres_->SwitchTo(next);
  // The block has failed elsewhere: this thread ends here.
  if (!status_.ok()) HostThread::Fault("");
}

void HostBlock::Start(int number) {
  Fibres::One& fibre = fibres_->of.emplace_back();
  fibre.stack.reset(new std::byte[kStackBytes]);
  // Stacks that began at the same place of a page would share few lines of the
  // cache.
  const std::size_t size =
      kStackBytes - static_cast<std::size_t>(number % 64) * 64;
  const context::stack_context stack = {.size = size,
                                        .sp = fibre.stack.get() + size};
  fibre.place = {nullptr, fibre.stack.get(), size};
  fibre.self = context::fiber(
      std::allocator_arg, context::preallocated(stack.sp, stack.size, stack),
      NoStacks(), [this, number](context::fiber&& from) {
        fibres_->Arrived(std::move(from));
        while (!ends_) {
          HostThread& thread = threads_[static_cast<std::size_t>(number)];
          try {
            if (status_.ok()) {
              (*kernel_)(thread);
              thread.End();
            }
          } catch (const MemoryFault& fault) {
            Fail(thread, fault.what);
          }
          thread.state_ = HostThread::State::kDone;
          fibres_->SwitchTo(Next());
        }
        fibres_->before = number;
        fibres_->running = Fibres::kLoop;
        fibres_->at(number).place.Leave(fibres_->loop.place, true);
        return std::move(fibres_->loop.self);
      });
}

void HostBlock::TryWarp(const HostThread& last) {
  const std::size_t first =
      static_cast<std::size_t>(last.index() / kWarp) * kWarp;
  const std::uint32_t mask = last.mask_;
  std::vector<Gathering>& gatherings = gatherings_[first / kWarp];
  auto own = gatherings.end();
  for (auto some = gatherings.begin(); some != gatherings.end(); ++some) {
    if ((some->here & mask) == 0) continue;
    if (some->mask != mask || some->work.work != last.work_.work ||
        some->work.line != last.work_.line)
      HostThread::Fault(absl::StrCat(
          last.work_.name, " of lanes ", absl::Hex(mask), " in line ",
          last.work_.line, ": thread ",
          first + static_cast<std::size_t>(std::countr_zero(some->here & mask)),
          " is at ", some->work.name, " of lanes ", absl::Hex(some->mask),
          " in line ", some->work.line));
    own = some;
  }
  if (own == gatherings.end())
    own = gatherings.insert(own, {.work = last.work_, .mask = mask});
  own->here |= std::uint32_t{1} << (last.index() % kWarp);
  if (own->here != mask) return;
  const WarpWork work = own->work;
  gatherings.erase(own);
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
  kernel_ = &kernel;
  status_ = absl::OkStatus();
  const auto threads = static_cast<std::size_t>(launch.threads);
  while (fibres_->of.size() < threads)
    Start(static_cast<int>(fibres_->of.size()));
  threads_.resize(threads);
  gatherings_.resize((threads + kWarp - 1) / kWarp);
  for (std::vector<Gathering>& of_warp : gatherings_) of_warp.clear();
  ready_.resize(threads);
  std::iota(ready_.begin(), ready_.end(), 0);
  if (shared_ == nullptr ||
      shared_->bytes() != static_cast<std::size_t>(launch.shared_bytes)) {
    shared_ = std::make_unique<HostMemory>(
        "shared memory", static_cast<std::size_t>(launch.shared_bytes));
    shared_->Track();
  } else {
    shared_->Poison();
  }
  for (std::size_t i = 0; i < threads; ++i) {
    threads_[i].Begin(this);
    threads_[i].moment_ = {.launch = launch.number,
                           .early = launch.early ? 1U : 0U,
                           .block = static_cast<std::uint32_t>(block),
                           .thread = static_cast<std::uint16_t>(i)};
  }
  Shuffle(ready_);
  fibres_->SwitchTo(Next());
  // After a failure, threads that have not ended end by its exception.
  for (std::size_t i = 0; i < threads; ++i)
    if (threads_[i].state_ != HostThread::State::kDone)
      fibres_->SwitchTo(static_cast<int>(i));
  std::uint64_t ahead = 0;
  for (const HostThread& thread : threads_) {
    ahead += thread.most_under_way_ * kAheadBytes;
    launch.traffic->waits = std::max(launch.traffic->waits, thread.waits_);
    launch.traffic->trips = std::max(launch.traffic->trips, thread.trips_);
  }
  launch.traffic->sectors += sectors_.size();
  sectors_.clear();
  launch.traffic->ahead = std::max(launch.traffic->ahead, ahead);
  return status_;
}

}  // namespace banyan
