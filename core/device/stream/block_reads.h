// BlockReads: reads of one file, several under way at once.
#ifndef BANYAN_CORE_DEVICE_STREAM_BLOCK_READS_H_
#define BANYAN_CORE_DEVICE_STREAM_BLOCK_READS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/device/stream/direct_file.h"

namespace banyan {

// For one thread. One that is destroyed waits for the reads under way.
class BlockReads {
 public:
  struct Done {
    int tag;
    absl::Status status;
  };

  virtual ~BlockReads() = default;
  // "io_uring" or "threads".
  virtual std::string name() const = 0;
  // Begins to fill `to` with the file's bytes from `offset` on. Requires that
  // fewer than `depth` reads are under way, none of them with this tag, a
  // number below `depth`. `to` belongs to the read until Wait gives its tag.
  virtual void Begin(int tag, std::uint64_t offset,
                     absl::Span<std::byte> to) = 0;
  // Waits for one of the reads under way, of which there is one. A read that
  // the system refuses ends with its error.
  virtual Done Wait() = 0;
};

// By io_uring. Unavailable where the system refuses it, or does not read the
// file's first block by it.
absl::StatusOr<std::unique_ptr<BlockReads>> UringReads(
    std::shared_ptr<const DirectFile> file, int depth);
// By `depth` threads, each in a call of its own.
std::unique_ptr<BlockReads> ThreadReads(std::shared_ptr<const DirectFile> file,
                                        int depth);

}  // namespace banyan

#endif  // BANYAN_CORE_DEVICE_STREAM_BLOCK_READS_H_
