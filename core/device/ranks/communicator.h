// Communicator: the ranks, processes on one machine or several, that compute
// one model together. Every rank runs the same program on the same input; what
// the others have computed reaches it through Gather.
#ifndef BANYAN_CORE_DEVICE_RANKS_COMMUNICATOR_H_
#define BANYAN_CORE_DEVICE_RANKS_COMMUNICATOR_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace banyan {

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

}  // namespace banyan

#endif  // BANYAN_CORE_DEVICE_RANKS_COMMUNICATOR_H_
