// Ranks: how many there are and which one this process is, what they send each
// other, and ranks whose messages are counted, timed or slowed down.
#ifndef BANYAN_CORE_DEVICE_RANKS_COMMUNICATOR_H_
#define BANYAN_CORE_DEVICE_RANKS_COMMUNICATOR_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/base/common.h"

namespace banyan {

// Communicator: the ranks, processes on one machine or several, that compute
// one model together. Every rank runs the same program on the same input; what
// the others have computed reaches it through Gather.

// The largest number of ranks.
inline constexpr int kMostRanks = 16;

// For one thread.
class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;  // from 0
  virtual int size() const = 0;
  virtual int nodes() const = 0;  // machines that they run on
  // How bytes travel, for records: "mpi", or "mpi, emulated 1Gbit,0.2ms".
  virtual std::string link() const = 0;

  // Fills `all` with the bytes that each rank gives, sizes[i] of rank i, in the
  // order of the ranks, and returns when they have arrived. Every rank makes
  // the same calls with the same sizes. Fails, naming the ranks, if some do not
  // arrive in time, and at every call after that.
  virtual absl::Status Gather(absl::Span<const std::byte> mine,
                              absl::Span<const std::size_t> sizes,
                              absl::Span<std::byte> all) = 0;
  // The time limit of gathers holds from here on: before it ranks open their
  // files, which may take one machine longer than another. Waits for all ranks.
  virtual absl::Status Ready() = 0;
  // The last call, of a program that has not failed: waits for all ranks. A
  // process that ends without it makes the launcher end the other ranks.
  virtual absl::Status Finish() = 0;
};

// A text of every rank, in their order.
absl::StatusOr<std::vector<std::string>> GatherTexts(Communicator& ranks,
                                                     absl::string_view mine);

// Rank 0's text. Texts of other ranks are ignored.
absl::StatusOr<std::string> Broadcast(Communicator& ranks,
                                      absl::string_view mine);

// Rank 0's number.
absl::StatusOr<double> Agree(Communicator& ranks, double mine);

// Returns when every rank has arrived here.
absl::Status WaitForAll(Communicator& ranks);

// Why a gather did not end: ranks that are late, or ranks that do not gather
// the same.

// The number of a rank's current gather, and hashes of the sizes of this gather
// and of the one before it.
struct GatherPlace {
  std::uint64_t number = 0;
  std::uint64_t sizes = 0;
  std::uint64_t sizes_before = 0;
};

// What a rank answered that was asked where it is.
struct RankAnswer {
  bool given = false;
  GatherPlace place;
  double after_s = 0;  // since the asking rank began its gather
};

// How long a gather may take, and the words that name this limit.
struct GatherLimit {
  double seconds = 0;
  std::string name;
};

// The ranks gather different amounts.
absl::Status RanksDiffer();

// The error of rank `mine`, whose gather did not end: of all ranks' answers,
// its own among them. The ranks' numbers may be apart, because a rank whose
// gather has ended goes on to the next while others wait for the last bytes of
// this one. A rank that gathers other sizes under the same number computes
// differently. Otherwise ranks without an answer are named as silent, and else
// the rank that answered last as late, or rank `mine` itself if all others
// answered in time.
absl::Status ExplainLateness(int mine, const std::vector<RankAnswer>& answers,
                             const GatherLimit& limit);

// Ranks whose gathers are counted and timed.

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

// Ranks whose bytes travel as over a slower link.

// A link between every two machines.
struct LinkSpeed {
  double latency_s = 0;
  double bytes_per_s = 0;
};

// "1Gbit,0.2ms": Gbit or Mbit a second, and a latency in ms or us.
absl::StatusOr<LinkSpeed> ReadLinkSpeed(absl::string_view text);
std::string Text(const LinkSpeed& speed);

// The steps of a gather, one after the other: in a ring, each machine passes on
// to its neighbour the bytes that it received last.
constexpr int GatherSteps(int ranks) { return ranks - 1; }

// The time of a gather of `bytes` in all over such a link, where every rank
// gives the same number of bytes: each receives those of all others.
double GatherSeconds(const LinkSpeed& speed, int ranks, std::size_t bytes);

// A communicator whose gathers take at least GatherSeconds after the last rank
// has arrived. `clock` outlives it.
std::unique_ptr<Communicator> EmulateLink(std::shared_ptr<Communicator> ranks,
                                          const LinkSpeed& speed,
                                          const Clock& clock);

// How this process was started: alone, or as one of several ranks.
struct Launch {
  int rank = 0;
  int ranks = 1;
};

// As the mpirun of Open MPI or MPICH says in the environment; one rank without
// one, and where CheckLaunch() fails. Needs no MPI.
Launch HowLaunched();

// InvalidArgument, naming variables and values, if what the environment says is
// no rank below the number of ranks.
absl::Status CheckLaunch();

// The arguments of this process, as the system has them.
std::string LaunchedWith();

}  // namespace banyan

#endif  // BANYAN_CORE_DEVICE_RANKS_COMMUNICATOR_H_
