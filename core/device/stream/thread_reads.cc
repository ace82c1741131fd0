#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "core/device/stream/block_reads.h"
#include "core/device/stream/direct_file.h"

namespace banyan {
namespace {

class Threads : public BlockReads {
 public:
  Threads(std::shared_ptr<const DirectFile> file, int depth)
      : file_(std::move(file)) {
    for (int i = 0; i < depth; ++i) threads_.emplace_back([this] { Work(); });
  }
  ~Threads() override {
    {
      const std::lock_guard<std::mutex> lock(turn_);
      stopping_ = true;
    }
    begun_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  std::string name() const override { return "threads"; }

  void Begin(int tag, std::uint64_t offset, absl::Span<std::byte> to) override {
    {
      const std::lock_guard<std::mutex> lock(turn_);
      waiting_.push_back({tag, PendingRead(*file_, offset, to)});
    }
    begun_.notify_one();
  }

  Done Wait() override {
    std::unique_lock<std::mutex> lock(turn_);
    ended_.wait(lock, [this] { return !done_.empty(); });
    Done done = std::move(done_.front());
    done_.pop_front();
    return done;
  }

 private:
  struct Task {
    int tag;
    PendingRead read;
  };

  void Work() {
    std::unique_lock<std::mutex> lock(turn_);
    while (true) {
      begun_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
      if (waiting_.empty()) return;  // stopping, and nothing is under way
      Task task = waiting_.front();
      waiting_.pop_front();
      lock.unlock();
      absl::Status status;
      while (status.ok() && !task.read.left().empty()) {
        const ssize_t result = pread(
            file_->descriptor(), task.read.left().data(),
            task.read.left().size(), static_cast<off_t>(task.read.offset()));
        status = task.read.Take(result < 0 ? -errno : result);
      }
      lock.lock();
      done_.push_back({task.tag, status});
      ended_.notify_one();
    }
  }

  std::shared_ptr<const DirectFile> file_;
  std::mutex turn_;
  std::condition_variable begun_, ended_;
  std::deque<Task> waiting_;
  std::deque<Done> done_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace

std::unique_ptr<BlockReads> ThreadReads(std::shared_ptr<const DirectFile> file,
                                        int depth) {
  return std::make_unique<Threads>(std::move(file), depth);
}

}  // namespace banyan
