#include "core/device/thread_pool.h"

#include <sched.h>

#include <utility>

#include "core/base/check.h"

namespace banyan {
namespace {

// The ops of one pass follow each other within microseconds: worth spinning
// for. A processor lost to others is not: after some microseconds the thread
// offers its own to them.
constexpr int kSpins = 2000;
constexpr int kYields = 200;

void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Waits while `value` is `old`, a short time only. True if it changed.
template <typename T>
bool SpinWhile(const std::atomic<T>& value, T old) {
  for (int i = 0; i < kSpins; ++i) {
    if (value.load(std::memory_order_acquire) != old) return true;
    Pause();
  }
  for (int i = 0; i < kYields; ++i) {
    if (value.load(std::memory_order_acquire) != old) return true;
    sched_yield();
  }
  return false;
}

}  // namespace

ThreadPool::ThreadPool(int threads) {
  Check(threads >= 1, "a thread pool needs a thread");
  try {
    for (int i = 1; i < threads; ++i) workers_.emplace_back([this] { Work(); });
  } catch (...) {  // or threads that nobody joins would end the program
    Stop();
    throw;
  }
}

ThreadPool::~ThreadPool() { Stop(); }

void ThreadPool::Stop() {
  stopping_ = true;
  jobs_.fetch_add(1, std::memory_order_release);
  jobs_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::Run(int pieces, absl::FunctionRef<void(int)> task) {
  if (workers_.empty() || pieces <= 1) {
    for (int i = 0; i < pieces; ++i) task(i);
    return;
  }
  const std::lock_guard<std::mutex> lock(turn_);
  const std::uint32_t job = jobs_.load(std::memory_order_relaxed) + 1;
  task_.store(&task, std::memory_order_relaxed);
  total_.store(pieces, std::memory_order_relaxed);
  unfinished_.store(pieces, std::memory_order_relaxed);
  open_.store({job, static_cast<std::uint32_t>(pieces)},
              std::memory_order_release);
  jobs_.store(job, std::memory_order_release);
  jobs_.notify_all();
  Help(job);
  int left = unfinished_.load(std::memory_order_acquire);
  while (left != 0) {
    if (!SpinWhile(unfinished_, left))
      unfinished_.wait(left, std::memory_order_acquire);
    left = unfinished_.load(std::memory_order_acquire);
  }
  if (thrown_ != nullptr)
    std::rethrow_exception(std::exchange(thrown_, nullptr));
}

void ThreadPool::RunPiece(Task task, int piece) {
  try {
    task(piece);
  } catch (...) {
    const std::lock_guard<std::mutex> lock(thrown_turn_);
    if (thrown_ == nullptr) thrown_ = std::current_exception();
  }
}

void ThreadPool::Help(std::uint32_t job) {
  Open open = open_.load(std::memory_order_acquire);
  while (open.job == job && open.pieces > 0) {
    // Both belong to `job` if the piece is got: the next job's are stored only
    // when no piece of this one is left.
    const Task* task = task_.load(std::memory_order_relaxed);
    const int total = total_.load(std::memory_order_relaxed);
    if (!open_.compare_exchange_weak(open, {job, open.pieces - 1},
                                     std::memory_order_acq_rel,
                                     std::memory_order_acquire))
      continue;
    RunPiece(*task, total - static_cast<int>(open.pieces));
    // Its caller may be asleep.
    if (unfinished_.fetch_sub(1, std::memory_order_acq_rel) == 1)
      unfinished_.notify_one();
    open = open_.load(std::memory_order_acquire);
  }
}

void ThreadPool::Work() {
  std::uint32_t seen = 0;
  while (!stopping_) {
    if (!SpinWhile(jobs_, seen)) jobs_.wait(seen, std::memory_order_acquire);
    seen = jobs_.load(std::memory_order_acquire);
    Help(seen);
  }
}

}  // namespace banyan
