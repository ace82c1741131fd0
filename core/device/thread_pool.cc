#include "core/device/thread_pool.h"

#include <sched.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>

#include "absl/functional/function_ref.h"
#include "core/base/check.h"

namespace banyan {
namespace {

// The ops of one pass follow each other within microseconds: worth spinning
// for. A processor lost to others is not: after some microseconds the thread
// offers its own.
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
  for (int number = 1; number < threads; ++number)
    workers_.emplace_back([this, number] { Work(number); });
}

ThreadPool::~ThreadPool() {
  stopping_ = true;
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::Run(absl::FunctionRef<void(int)> task) {
  if (workers_.empty()) return task(0);
  const std::lock_guard<std::mutex> lock(turn_);
  task_ = &task;
  busy_.store(static_cast<int>(workers_.size()), std::memory_order_relaxed);
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
  task(0);
  int busy = busy_.load(std::memory_order_acquire);
  while (busy != 0) {
    if (!SpinWhile(busy_, busy)) busy_.wait(busy, std::memory_order_acquire);
    busy = busy_.load(std::memory_order_acquire);
  }
}

void ThreadPool::Work(int number) {
  for (std::uint32_t seen = 0;; ++seen) {
    if (!SpinWhile(round_, seen)) round_.wait(seen, std::memory_order_acquire);
    if (stopping_) return;
    (*task_)(number);
    // The last one out may find its caller asleep.
    if (busy_.fetch_sub(1, std::memory_order_acq_rel) == 1) busy_.notify_one();
  }
}

}  // namespace banyan
