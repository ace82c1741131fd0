#include "core/device/ranks/communicator.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "absl/strings/strip.h"
#include "core/base/bytes.h"

namespace banyan {

namespace {

absl::Span<std::byte> WritableBytes(std::string& text) {
  return {reinterpret_cast<std::byte*>(text.data()), text.size()};
}

// The value of every rank, in their order.
template <typename T>
absl::StatusOr<std::vector<T>> GatherValues(Communicator& ranks, T mine) {
  const auto count = static_cast<std::size_t>(ranks.size());
  std::vector<T> all(count);
  BANYAN_RETURN_IF_ERROR(ranks.Gather(
      {reinterpret_cast<const std::byte*>(&mine), sizeof(T)},
      std::vector<std::size_t>(count, sizeof(T)),
      {reinterpret_cast<std::byte*>(all.data()), count * sizeof(T)}));
  return all;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> GatherTexts(Communicator& ranks,
                                                     absl::string_view mine) {
  BANYAN_ASSIGN_OR_RETURN(const std::vector<std::size_t> sizes,
                          GatherValues(ranks, mine.size()));
  std::size_t size = 0;
  for (const std::size_t one : sizes) size += one;
  std::string all(size, '\0');
  BANYAN_RETURN_IF_ERROR(
      ranks.Gather(BytesOf(mine), sizes, WritableBytes(all)));
  std::vector<std::string> texts;
  std::size_t at = 0;
  for (const std::size_t one : sizes) {
    texts.push_back(all.substr(at, one));
    at += one;
  }
  return texts;
}

absl::StatusOr<std::string> Broadcast(Communicator& ranks,
                                      absl::string_view mine) {
  BANYAN_ASSIGN_OR_RETURN(
      std::vector<std::string> texts,
      GatherTexts(ranks, ranks.rank() == 0 ? mine : absl::string_view()));
  return texts.front();
}

absl::StatusOr<double> Agree(Communicator& ranks, double mine) {
  BANYAN_ASSIGN_OR_RETURN(const std::vector<double> all,
                          GatherValues(ranks, mine));
  return all.front();
}

absl::Status WaitForAll(Communicator& ranks) {
  return GatherValues(ranks, std::byte{1}).status();
}

namespace {

// Whether two ranks gather the same, as far as their numbers show. A rank that
// has no bytes of a gather to wait for may be several ahead.
bool Alike(const GatherPlace& a, const GatherPlace& b) {
  if (a.number == b.number)
    return a.sizes == b.sizes && a.sizes_before == b.sizes_before;
  if (a.number == b.number + 1) return a.sizes_before == b.sizes;
  if (b.number == a.number + 1) return b.sizes_before == a.sizes;
  return true;
}

}  // namespace

absl::Status RanksDiffer() {
  return absl::DataLossError(
      "the ranks gather different amounts: they have drafted or accepted "
      "different tokens, so their machines or programs compute differently");
}

absl::Status ExplainLateness(int mine, const std::vector<RankAnswer>& answers,
                             const GatherLimit& limit) {
  const GatherPlace& place = answers[static_cast<std::size_t>(mine)].place;
  std::vector<int> silent;
  int last = mine;
  double last_s = 0;
  for (int rank = 0; rank < static_cast<int>(answers.size()); ++rank) {
    const RankAnswer& answer = answers[static_cast<std::size_t>(rank)];
    if (rank == mine) continue;
    if (!answer.given) {
      silent.push_back(rank);
      continue;
    }
    if (!Alike(place, answer.place)) return RanksDiffer();
    if (answer.after_s < last_s) continue;
    last = rank;
    last_s = answer.after_s;
  }
  if (!silent.empty())
    return absl::DeadlineExceededError(absl::StrCat(
        silent.size() == 1 ? "rank " : "ranks ", absl::StrJoin(silent, ", "),
        " did not answer for ", limit.seconds, " s ", limit.name,
        ", expected for gather ", place.number));
  if (last_s <= limit.seconds)
    return absl::DeadlineExceededError(
        absl::StrCat("rank ", mine, " came to gather ", place.number,
                     " after other ranks had waited for it for ", limit.seconds,
                     " s ", limit.name));
  return absl::DeadlineExceededError(absl::StrCat(
      "rank ", last, " answered after ", absl::StrFormat("%.4g", last_s),
      " s, expected within ", limit.seconds, " s ", limit.name, " for gather ",
      place.number));
}

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

namespace {

// Returns rank and size from the first launcher that sets both of its
// variables.
absl::StatusOr<Launch> ReadLaunch() {
  constexpr struct {
    const char* rank;
    const char* ranks;
  } kLaunchers[] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                    {"PMI_RANK", "PMI_SIZE"}};
  for (const auto& launcher : kLaunchers) {
    const char* const rank = std::getenv(launcher.rank);
    const char* const ranks = std::getenv(launcher.ranks);
    if (rank == nullptr || ranks == nullptr) continue;
    Launch launch;
    if (absl::SimpleAtoi(rank, &launch.rank) &&
        absl::SimpleAtoi(ranks, &launch.ranks) && launch.rank >= 0 &&
        launch.rank < launch.ranks)
      return launch;
    return absl::InvalidArgumentError(absl::StrCat(
        "environment: expected ", launcher.rank, " from 0 on and below ",
        launcher.ranks, ", as mpirun sets them, found ", launcher.rank, "=",
        rank, " and ", launcher.ranks, "=", ranks));
  }
  return Launch();
}

}  // namespace

Launch HowLaunched() {
  const absl::StatusOr<Launch> launch = ReadLaunch();
  return launch.ok() ? *launch : Launch();
}

absl::Status CheckLaunch() { return ReadLaunch().status(); }

std::string LaunchedWith() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  std::replace(text.begin(), text.end(), '\0', ' ');
  const std::size_t program = text.find(' ');
  return program == std::string::npos ? "" : text.substr(program + 1);
}

}  // namespace banyan
