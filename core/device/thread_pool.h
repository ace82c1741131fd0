// ThreadPool: a fixed team of threads that runs one task at a time.
#ifndef BANYAN_CORE_DEVICE_THREAD_POOL_H_
#define BANYAN_CORE_DEVICE_THREAD_POOL_H_

#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/functional/function_ref.h"

namespace banyan {

// Safe for concurrent use: callers take turns. The caller works too, so a pool
// of one thread starts none.
class ThreadPool {
 public:
  // Requires threads >= 1.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }
  // Runs task(0), ..., task(threads() - 1), each on a thread of its own, and
  // returns when all have. A task must not call Run.
  void Run(absl::FunctionRef<void(int)> task);

 private:
  void Work(int number);

  std::mutex turn_;
  const absl::FunctionRef<void(int)>* task_ = nullptr;
  bool stopping_ = false;
  std::atomic<std::uint32_t> round_ = 0;  // counts tasks
  std::atomic<int> busy_ = 0;
  std::vector<std::thread> workers_;
};

}  // namespace banyan

#endif  // BANYAN_CORE_DEVICE_THREAD_POOL_H_
