// The only file that uses MPI. MPI moves bytes and does no arithmetic, so it
// cannot change results.
#include "core/device/ranks/mpi.h"

#include "core/base/common.h"

#ifdef BANYAN_MPI
#include <mpi.h>
#include <sched.h>

#include <chrono>
#include <cstddef>
#include <limits>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "core/base/bytes.h"

namespace banyan {
namespace {

using std::chrono::duration;
using std::chrono::steady_clock;

absl::Status Checked(int result, const char* what) {
  if (result == MPI_SUCCESS) return absl::OkStatus();
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(result, text, &length);
  return absl::UnavailableError(
      absl::StrCat("MPI: ", what, ": ", std::string(text, text + length)));
}

double SecondsSince(steady_clock::time_point start) {
  return duration<double>(steady_clock::now() - start).count();
}

class MpiCommunicator : public Communicator {
 public:
  explicit MpiCommunicator(double timeout_s) : timeout_s_(timeout_s) {}

  absl::Status Start() {
    BANYAN_RETURN_IF_ERROR(Checked(
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "errors"));
    BANYAN_RETURN_IF_ERROR(
        Checked(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "rank"));
    BANYAN_RETURN_IF_ERROR(
        Checked(MPI_Comm_size(MPI_COMM_WORLD, &size_), "size"));
    MPI_Comm node = MPI_COMM_NULL;
    BANYAN_RETURN_IF_ERROR(
        Checked(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0,
                                    MPI_INFO_NULL, &node),
                "nodes"));
    int in_node = 0;
    MPI_Comm_rank(node, &in_node);
    MPI_Comm_free(&node);
    const int first = in_node == 0 ? 1 : 0;
    return Checked(
        MPI_Allreduce(&first, &nodes_, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD),
        "nodes");
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int nodes() const override { return nodes_; }
  std::string link() const override { return "mpi"; }

  absl::Status Gather(absl::Span<const std::byte> mine,
                      absl::Span<const std::size_t> sizes,
                      absl::Span<std::byte> all) override {
    BANYAN_RETURN_IF_ERROR(failed_);
    place_ = {.number = place_.number + 1,
              .sizes = Fnv1a({reinterpret_cast<const std::byte*>(sizes.data()),
                              sizes.size() * sizeof(std::size_t)}),
              .sizes_before = place_.sizes};
    std::vector<int> counts;
    std::vector<int> places;
    std::size_t at = 0;
    for (const std::size_t size : sizes) {
      counts.push_back(static_cast<int>(size));
      places.push_back(static_cast<int>(at));
      at += size;
    }
    if (at > std::numeric_limits<int>::max())
      return absl::ResourceExhaustedError(
          absl::StrCat("gather: expected less than 2 GiB, found ", at));
    MPI_Request request = MPI_REQUEST_NULL;
    BANYAN_RETURN_IF_ERROR(Checked(
        MPI_Iallgatherv(mine.data(), static_cast<int>(mine.size()), MPI_BYTE,
                        all.data(), counts.data(), places.data(), MPI_BYTE,
                        MPI_COMM_WORLD, &request),
        "gather"));
    failed_ = Await(request);
    return failed_;
  }

  absl::Status Ready() override {
    BANYAN_RETURN_IF_ERROR(WaitForAll(*this));
    ready_ = true;
    return absl::OkStatus();
  }
  absl::Status Finish() override {
    BANYAN_RETURN_IF_ERROR(WaitForAll(*this));
    return Checked(MPI_Finalize(), "end");
  }

 private:
  static constexpr int kHereTag = 1;
  static constexpr double kPollS = 200e-6;
  static constexpr std::chrono::microseconds kNap{20};
  static constexpr double kLookS = 0.1;
  static constexpr double kAnswerS = 2;
  static constexpr double kUntilReadyS = 3600;

  // Polls first: a sleeping thread would wake up later than a short gather
  // ends. After kPollS it sleeps: with more programs than processors, a rank
  // that polls takes the processor that the other ranks need.
  absl::Status Await(MPI_Request& request) {
    const steady_clock::time_point start = steady_clock::now();
    const double most = Limit().seconds;
    double look = kLookS;
    for (int done = 0;;) {
      const int tested = MPI_Test(&request, &done, MPI_STATUS_IGNORE);
      if (IsTruncated(tested)) return RanksDiffer();
      BANYAN_RETURN_IF_ERROR(Checked(tested, "gather"));
      if (done != 0) return absl::OkStatus();
      const double waited = SecondsSince(start);
      if (waited > most) return Late(start);
      if (waited > look) {  // another rank may be late already
        int asked = 0;
        MPI_Iprobe(MPI_ANY_SOURCE, kHereTag, MPI_COMM_WORLD, &asked,
                   MPI_STATUS_IGNORE);
        if (asked != 0) return Late(start);
        look += kLookS;
      }
      if (waited < kPollS)
        sched_yield();
      else
        std::this_thread::sleep_for(kNap);
    }
  }

  static bool IsTruncated(int result) {
    int kind = MPI_SUCCESS;
    if (result != MPI_SUCCESS) MPI_Error_class(result, &kind);
    return kind == MPI_ERR_TRUNCATE;
  }

  GatherLimit Limit() const {
    return ready_ ? GatherLimit{timeout_s_, "(--gather-timeout)"}
                  : GatherLimit{kUntilReadyS, "while ranks opened their files"};
  }

  // Ranks that are here tell each other where; the others are late.
  absl::Status Late(steady_clock::time_point start) {
    const auto count = static_cast<std::size_t>(size_);
    std::vector<MPI_Request> sends(count, MPI_REQUEST_NULL);
    std::vector<RankAnswer> answers(count);
    for (int to = 0; to < size_; ++to)
      if (to != rank_)
        MPI_Isend(&place_, sizeof(place_), MPI_BYTE, to, kHereTag,
                  MPI_COMM_WORLD, &sends[static_cast<std::size_t>(to)]);
    answers[static_cast<std::size_t>(rank_)] = {true, place_, 0};
    int missing = size_ - 1;
    int sent = 0;
    const steady_clock::time_point asked = steady_clock::now();
    while ((missing > 0 || sent == 0) && SecondsSince(asked) < kAnswerS) {
      MPI_Testall(size_, sends.data(), &sent, MPI_STATUSES_IGNORE);
      int found = 0;
      MPI_Status status;
      MPI_Iprobe(MPI_ANY_SOURCE, kHereTag, MPI_COMM_WORLD, &found, &status);
      if (found == 0) {
        sched_yield();
        continue;
      }
      RankAnswer& answer = answers[static_cast<std::size_t>(status.MPI_SOURCE)];
      MPI_Recv(&answer.place, sizeof(answer.place), MPI_BYTE, status.MPI_SOURCE,
               kHereTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      answer.given = true;
      answer.after_s = SecondsSince(start);
      --missing;
    }
    return ExplainLateness(rank_, answers, Limit());
  }

  double timeout_s_;
  int rank_ = 0;
  int size_ = 1;
  int nodes_ = 1;
  GatherPlace place_;
  bool ready_ = false;
  absl::Status failed_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Communicator>> StartMpi(double timeout_s) {
  int provided = MPI_THREAD_SINGLE;  // threads that compute call no MPI
  BANYAN_RETURN_IF_ERROR(
      Checked(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided),
              "start"));
  auto ranks = std::make_unique<MpiCommunicator>(timeout_s);
  BANYAN_RETURN_IF_ERROR(ranks->Start());
  if (ranks->size() > kMostRanks)
    return absl::InvalidArgumentError(absl::StrCat(
        "ranks: expected at most ", kMostRanks, ", found ", ranks->size()));
  return ranks;
}

}  // namespace banyan

#else

namespace banyan {

absl::StatusOr<std::unique_ptr<Communicator>> StartMpi(double /*timeout_s*/) {
  return absl::FailedPreconditionError(
      "this program was started as one of several ranks and was built without "
      "MPI, which was not there or was turned off (BANYAN_MPI); "
      "docs/clusters.md");
}

}  // namespace banyan

#endif
