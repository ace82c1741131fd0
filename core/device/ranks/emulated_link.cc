#include "core/device/ranks/emulated_link.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "core/base/clock.h"
#include "core/base/status_macros.h"
#include "core/device/ranks/communicator.h"

namespace banyan {
namespace {

constexpr double kBytesInMbit = 125'000;

struct Unit {
  absl::string_view name;
  double size;
};

// A number above 0 with one of the units after it.
bool ReadWithUnit(absl::string_view text, absl::Span<const Unit> units,
                  double& out) {
  for (const Unit& unit : units)
    if (absl::ConsumeSuffix(&text, unit.name)) {
      double number = 0;
      out = absl::SimpleAtod(text, &number) ? number * unit.size : 0;
      return out > 0 && out < 1e15;
    }
  return false;
}

class EmulatedLink : public Communicator {
 public:
  EmulatedLink(std::shared_ptr<Communicator> ranks, const LinkSpeed& speed,
               const Clock& clock)
      : ranks_(std::move(ranks)), speed_(speed), clock_(clock) {}

  int rank() const override { return ranks_->rank(); }
  int size() const override { return ranks_->size(); }
  int nodes() const override { return ranks_->nodes(); }
  std::string link() const override {
    return absl::StrCat(ranks_->link(), ", emulated ", Text(speed_));
  }

  absl::Status Gather(absl::Span<const std::byte> mine,
                      absl::Span<const std::size_t> sizes,
                      absl::Span<std::byte> all) override {
    BANYAN_RETURN_IF_ERROR(WaitForAll(*ranks_));
    const std::int64_t start = clock_.NowNs();
    BANYAN_RETURN_IF_ERROR(ranks_->Gather(mine, sizes, all));
    const auto takes = static_cast<std::int64_t>(
        1e9 * GatherSeconds(speed_, size(), all.size()));
    while (clock_.NowNs() - start < takes) {
    }
    return absl::OkStatus();
  }

  absl::Status Ready() override { return ranks_->Ready(); }
  absl::Status Finish() override { return ranks_->Finish(); }

 private:
  std::shared_ptr<Communicator> ranks_;
  LinkSpeed speed_;
  const Clock& clock_;
};

}  // namespace

absl::StatusOr<LinkSpeed> ReadLinkSpeed(absl::string_view text) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, ',');
  LinkSpeed speed;
  if (parts.size() == 2 &&
      ReadWithUnit(parts[0],
                   {{"Gbit", 1000 * kBytesInMbit}, {"Mbit", kBytesInMbit}},
                   speed.bytes_per_s) &&
      ReadWithUnit(parts[1], {{"ms", 1e-3}, {"us", 1e-6}}, speed.latency_s))
    return speed;
  return absl::InvalidArgumentError(absl::StrCat(
      "link: expected a rate and a latency, such as 1Gbit,0.2ms, found \"",
      text, "\""));
}

std::string Text(const LinkSpeed& speed) {
  return absl::StrCat(speed.bytes_per_s / kBytesInMbit / 1000, "Gbit,",
                      speed.latency_s * 1e3, "ms");
}

double GatherSeconds(const LinkSpeed& speed, int ranks, std::size_t bytes) {
  const double received =
      static_cast<double>(bytes) * (ranks - 1) / static_cast<double>(ranks);
  return GatherSteps(ranks) * speed.latency_s + received / speed.bytes_per_s;
}

std::unique_ptr<Communicator> EmulateLink(std::shared_ptr<Communicator> ranks,
                                          const LinkSpeed& speed,
                                          const Clock& clock) {
  return std::make_unique<EmulatedLink>(std::move(ranks), speed, clock);
}

}  // namespace banyan
