// ThreadPool: a fixed team of threads that shares out the pieces of one task at
// a time.
#ifndef BANYAN_CORE_DEVICE_THREAD_POOL_H_
#define BANYAN_CORE_DEVICE_THREAD_POOL_H_

#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/functional/function_ref.h"

namespace banyan {

// Safe for concurrent use: callers that share a task out take turns. The caller
// works too, so a pool of one thread starts none, and a thread that the system
// keeps waiting is not waited for unless it has begun a piece: the others do
// its share.
class ThreadPool {
 public:
  // Requires threads >= 1. Throws std::system_error where the system has no
  // more threads.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }
  // Runs task(0), ..., task(pieces - 1), once each, on whichever threads are
  // free, lower pieces first, and returns when all have run. What a piece
  // throws (memory ran out) is thrown here then, the first of several. A task
  // must not call Run.
  void Run(int pieces, absl::FunctionRef<void(int)> task);

 private:
  using Task = absl::FunctionRef<void(int)>;

  // The job under way and the pieces of it that nobody has begun, in one word,
  // so that a piece is taken only from the job it was seen in.
  struct Open {
    std::uint32_t job;
    std::uint32_t pieces;
  };

  void Work();
  void Stop();
  // Calls task(piece), and keeps what that throws.
  void RunPiece(Task task, int piece);
  // Runs pieces of job `job` until none is left.
  void Help(std::uint32_t job);

  std::mutex turn_;
  std::atomic<Open> open_ = Open{0, 0};
  std::atomic<const Task*> task_ = nullptr;
  std::atomic<int> total_ = 0;           // pieces of the job
  std::atomic<int> unfinished_ = 0;      // of them
  std::atomic<std::uint32_t> jobs_ = 0;  // begun so far; what workers wait for
  std::atomic<bool> stopping_ = false;
  std::mutex thrown_turn_;
  std::exception_ptr thrown_;  // by a piece of the job
  std::vector<std::thread> workers_;
};

}  // namespace banyan

#endif  // BANYAN_CORE_DEVICE_THREAD_POOL_H_
