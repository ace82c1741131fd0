// Ranks whose gathers are counted and timed.
#ifndef BANYAN_CORE_DEVICE_RANKS_METERED_H_
#define BANYAN_CORE_DEVICE_RANKS_METERED_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "core/base/clock.h"
#include "core/base/status_macros.h"
#include "core/device/ranks/communicator.h"

namespace banyan {

// Of this rank.
struct GatherTotals {
  std::int64_t gathers = 0;
  std::int64_t bytes = 0;  // that all ranks gave
  // Only while these are told apart.
  std::int64_t wait_ns = 0;    // until the last rank had arrived
  std::int64_t gather_ns = 0;  // from then on
};

class MeteredCommunicator : public Communicator {
 public:
  // `clock` outlives it.
  MeteredCommunicator(std::shared_ptr<Communicator> ranks, const Clock& clock)
      : ranks_(std::move(ranks)), clock_(clock) {}

  int rank() const override { return ranks_->rank(); }
  int size() const override { return ranks_->size(); }
  int nodes() const override { return ranks_->nodes(); }
  std::string link() const override { return ranks_->link(); }
  absl::Status Ready() override { return ranks_->Ready(); }
  absl::Status Finish() override { return ranks_->Finish(); }

  // From here on, or no more, one more exchange goes before every gather, which
  // tells waiting from gathering.
  void TellApart(bool apart) { apart_ = apart; }
  // Of all gathers so far.
  const GatherTotals& totals() const { return totals_; }

  absl::Status Gather(absl::Span<const std::byte> mine,
                      absl::Span<const std::size_t> sizes,
                      absl::Span<std::byte> all) override {
    ++totals_.gathers;
    totals_.bytes += static_cast<std::int64_t>(all.size());
    if (!apart_) return ranks_->Gather(mine, sizes, all);
    const std::int64_t start = clock_.NowNs();
    BANYAN_RETURN_IF_ERROR(WaitForAll(*ranks_));
    const std::int64_t here = clock_.NowNs();
    BANYAN_RETURN_IF_ERROR(ranks_->Gather(mine, sizes, all));
    totals_.wait_ns += here - start;
    totals_.gather_ns += clock_.NowNs() - here;
    return absl::OkStatus();
  }

 private:
  std::shared_ptr<Communicator> ranks_;
  const Clock& clock_;
  bool apart_ = false;
  GatherTotals totals_;
};

}  // namespace banyan

#endif  // BANYAN_CORE_DEVICE_RANKS_METERED_H_
