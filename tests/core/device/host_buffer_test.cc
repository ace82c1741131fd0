#include "core/device/host_buffer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <fstream>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace banyan {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

// Returns the resident bytes of this process.
std::size_t Resident() {
  std::ifstream file("/proc/self/statm");
  std::size_t size = 0;
  std::size_t resident = 0;
  file >> size >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

TEST(HostBuffer, TakesNoMoreMemoryThanItsBytes) {
  constexpr std::size_t kBytes = 3 * kMiB;
  constexpr std::size_t kBuffers = 64;
  std::vector<std::unique_ptr<HostBuffer>> buffers;
  const std::size_t before = Resident();
  for (std::size_t i = 0; i < kBuffers; ++i) {
    absl::StatusOr<std::unique_ptr<HostBuffer>> buffer =
        HostBuffer::Allocate(kBytes);
    ASSERT_TRUE(buffer.ok()) << buffer.status();
    ASSERT_EQ((*buffer)->bytes(), kBytes);
    EXPECT_EQ((*buffer)->data()[kBytes - 1], std::byte{0});
    std::memset((*buffer)->data(), 1, kBytes);
    buffers.push_back(*std::move(buffer));
  }
  const std::size_t taken = Resident() - before;
  EXPECT_GE(taken, (kBuffers - 1) * kBytes);
  EXPECT_LE(taken, kBuffers * kBytes + 16 * kMiB);
}

}  // namespace
}  // namespace banyan
