// Tests of packs written over several runs: whatever is left of an interrupted
// run, and whatever happened to it since, the pack has the same bytes.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "absl/status/statusor.h"
#include "core/base/bytes.h"
#include "core/base/weight_format.h"
#include "core/checkpoint/checkpoint.h"
#include "experiments/makers/pack_model.h"
#include "tests/core/checkpoint/files.h"
#include "tests/experiments/makers/growing.h"
#include "tests/support/made/golden_model.h"

namespace banyan {
namespace {

PackOptions Options(std::int64_t sync_bytes) {
  return {.format = WeightFormat::kQ8,
          .source = "a name",
          .sync_bytes = sync_bytes};
}

void Quiet(std::int64_t /*written*/, std::int64_t /*all*/) {}

absl::StatusOr<PackedModel> PackQwen3(const PackOptions& options,
                                      const std::string& path,
                                      PackProgress progress) {
  return PackModel(*MustOpen(GoldenFolder("qwen3")), options, path, progress);
}

// Written in one run.
std::string WholePack() {
  const TestFolder folder;
  const absl::StatusOr<PackedModel> done =
      PackQwen3(Options(1), folder.path() + "/model.pack", Quiet);
  EXPECT_TRUE(done.ok()) << done.status();
  return folder.Read("model.pack");
}

// Where a packed file's header ends.
std::size_t PackPreambleBytes(const std::string& file) {
  std::uint64_t bytes = 0;
  std::memcpy(&bytes, &file[16], sizeof(bytes));
  return 24 + static_cast<std::size_t>(bytes);
}

// What a run of qwen3 in q8 leaves that is killed after its last extent.
class KilledPack {
 public:
  explicit KilledPack(std::int64_t sync_bytes) {
    const pid_t child = fork();
    if (child == 0) {
      (void)PackQwen3(Options(sync_bytes), path(),
                      [](std::int64_t at, std::int64_t end) {
                        if (end - at < 4096) _exit(7);
                      });
      _exit(0);
    }
    int status = 0;
    EXPECT_EQ(child, waitpid(child, &status, 0));
    EXPECT_EQ(7, WEXITSTATUS(status));
    partial_ = folder_.Read("model.pack.partial");
  }
  std::string path() const { return folder_.path() + "/model.pack"; }
  const std::string& partial() const { return partial_; }
  // Goes on from another partial file.
  PackedModel GoOn(const std::string& partial) const {
    folder_.Write("model.pack.partial", partial);
    const absl::StatusOr<PackedModel> done =
        PackQwen3(Options(1), path(), Quiet);
    EXPECT_TRUE(done.ok()) << done.status();
    return done.ok() ? *done : PackedModel();
  }
  std::string Read() const { return folder_.Read("model.pack"); }

 private:
  TestFolder folder_;
  std::string partial_;
};

TEST(ResumedPack, AnUnfinishedFileThatWasCutIsResumedToTheSameBytes) {
  const std::string whole = WholePack();
  const KilledPack killed(1);
  const PackedModel all = killed.GoOn(killed.partial());
  EXPECT_EQ(0, all.packed_again);
  EXPECT_GT(all.resumed, 0);
  EXPECT_TRUE(whole == killed.Read());
  std::int64_t most = 0;
  // The last extent has some bytes of the last 4096.
  const std::size_t end = killed.partial().size() - 4096;
  for (std::size_t size = 0; size < end; size += 3001) {
    const PackedModel done = killed.GoOn(killed.partial().substr(0, size));
    EXPECT_TRUE(whole == killed.Read()) << "cut at " << size;
    EXPECT_LT(done.resumed, all.resumed) << "cut at " << size;
    EXPECT_GE(done.resumed, most) << "cut at " << size;
    most = done.resumed;
    // With a whole header it is known that there were more extents.
    EXPECT_EQ(done.packed_again > 0, size >= PackPreambleBytes(whole))
        << "cut at " << size;
  }
  EXPECT_GT(most, 0);
}

TEST(ResumedPack, AnUnfinishedFileThatWasDamagedIsResumedToTheSameBytes) {
  const std::string whole = WholePack();
  const KilledPack killed(1);
  const std::size_t data = PackPreambleBytes(whole);
  for (std::uint64_t run = 0; run < 8; ++run) {
    std::string bad = killed.partial();
    for (std::uint64_t i = 0; i < 50; ++i) {
      const std::uint64_t dice = Mixed(run * 50 + i);
      // In the extents, or anywhere.
      const std::size_t from = run % 2 == 0 ? data : 0;
      const std::size_t at = from + dice % (bad.size() - from);
      bad[at] = static_cast<char>(bad[at] ^ (1 << (dice >> 40) % 8));
    }
    const PackedModel done = killed.GoOn(bad);
    EXPECT_TRUE(whole == killed.Read()) << "run " << run;
    if (run % 2 == 0) {
      EXPECT_GT(done.packed_again, 0) << "run " << run;
    }
  }
}

// A checksum of which the disk has a part only, or one that it has before the
// extent, costs that extent alone.
TEST(ResumedPack, HalfAChecksumOfAnUnfinishedFileCostsItsExtent) {
  const std::string whole = WholePack();
  const KilledPack killed(1);
  const std::int64_t all = killed.GoOn(killed.partial()).resumed;
  std::string torn = killed.partial();
  const std::string key = "\"checksums\":\"";
  const std::size_t at = torn.find(key) + key.size();
  ASSERT_NE(torn.substr(at, 4), "0000");
  torn.replace(at, 4, "0000");
  const PackedModel done = killed.GoOn(torn);
  EXPECT_EQ(1, done.packed_again);
  EXPECT_LT(done.resumed, all);
  EXPECT_GT(done.resumed, all / 2);
  EXPECT_TRUE(whole == killed.Read());
}

TEST(ResumedPack, WhatWasNotSyncedIsPackedAgain) {
  const std::string whole = WholePack();
  const KilledPack killed(std::int64_t{1} << 40);
  const PackedModel done = killed.GoOn(killed.partial());
  EXPECT_EQ(0, done.resumed);
  EXPECT_EQ(0, done.packed_again);
  EXPECT_TRUE(whole == killed.Read());
}

}  // namespace
}  // namespace banyan
