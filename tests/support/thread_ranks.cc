#include "tests/support/thread_ranks.h"

#include <algorithm>
#include <barrier>
#include <cstddef>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/common.h"

namespace banyan {
namespace {

struct Meeting {
  explicit Meeting(int count)
      : barrier(count),
        given(static_cast<std::size_t>(count)),
        sizes(static_cast<std::size_t>(count)) {}

  std::barrier<> barrier;
  std::vector<absl::Span<const std::byte>> given;  // by rank
  std::vector<std::vector<std::size_t>> sizes;
};

class ThreadRanks : public Communicator {
 public:
  ThreadRanks(std::shared_ptr<Meeting> meeting, int rank)
      : meeting_(std::move(meeting)), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(meeting_->given.size()); }
  int nodes() const override { return 1; }
  std::string link() const override { return "threads"; }
  absl::Status Ready() override { return absl::OkStatus(); }
  absl::Status Finish() override { return absl::OkStatus(); }

  absl::Status Gather(absl::Span<const std::byte> mine,
                      absl::Span<const std::size_t> sizes,
                      absl::Span<std::byte> all) override {
    const auto place = static_cast<std::size_t>(rank_);
    meeting_->given[place] = mine;
    meeting_->sizes[place].assign(sizes.begin(), sizes.end());
    meeting_->barrier.arrive_and_wait();
    auto to = all.begin();
    for (std::size_t rank = 0; rank < meeting_->given.size(); ++rank) {
      Check(meeting_->sizes[rank] == meeting_->sizes.front() &&
                meeting_->given[rank].size() == sizes[rank],
            "ranks gather different sizes");
      to = std::copy(meeting_->given[rank].begin(), meeting_->given[rank].end(),
                     to);
    }
    Check(to == all.end(), "a gather into a place of another size");
    meeting_->barrier.arrive_and_wait();
    return absl::OkStatus();
  }

 private:
  std::shared_ptr<Meeting> meeting_;
  int rank_;
};

}  // namespace

void OnRanks(
    int count,
    const std::function<void(const std::shared_ptr<Communicator>&)>& work) {
  const auto meeting = std::make_shared<Meeting>(count);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < count; ++rank)
    threads.emplace_back(
        [&, rank] { work(std::make_shared<ThreadRanks>(meeting, rank)); });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace banyan
