// The host device: what kernels may do works.
#include "core/device/cuda/host_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/common.h"
#include "core/device/cuda/kernel.h"
#include "core/device/cuda/span.h"
#include "tests/core/device/cuda/host_fixture.h"

namespace banyan::on_host {
namespace {

using testing::AllOf;
using testing::HasSubstr;

struct Scale {
  static constexpr const char* kName = "scale";
  Global<float> x;
  float by;
  BANYAN_DEVICE void operator()(const Thread& t) const {
    const std::int64_t i = std::int64_t{t.block()} * t.threads() + t.index();
    if (i < x.size()) x.Write(i, x.Read(i) * by);
  }
};

// Each block adds up its numbers: within warps, then across them.
struct BlockSum {
  static constexpr const char* kName = "block_sum";
  Global<const float> x;
  Global<float> sums;
  BANYAN_DEVICE void operator()(const Thread& t) const {
    const Shared<float> parts = t.SharedArray<float>(0, t.threads() / 32);
    float sum = x.Read(std::int64_t{t.block()} * t.threads() + t.index());
    for (int lanes = 16; lanes > 0; lanes /= 2) sum += t.ShuffleXor(sum, lanes);
    if (t.lane() == 0) parts.Write(t.warp(), sum);
    t.Sync();
    if (t.index() != 0) return;
    float all = 0;
    for (int i = 0; i < t.threads() / 32; ++i) all += parts.Read(i);
    sums.Write(t.block(), all);
  }
};

TEST_F(HostDeviceTest, RunsKernelsInTheOrderOfTheirCalls) {
  const DeviceSpan x = Put<float>({1, 2, 3, 4, 5});
  Launch(device_, {.blocks = 1, .threads = 32}, Scale{On<float>(x), 2});
  Launch(device_, {.blocks = 1, .threads = 32}, Scale{On<float>(x), 10});
  EXPECT_EQ(Take<float>(x), (std::vector<float>{20, 40, 60, 80, 100}));
}

TEST_F(HostDeviceTest, BlocksShareMemoryAndWarpsShuffle) {
  std::vector<float> numbers(3 * 96);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = static_cast<float>(i);
  const DeviceSpan sums = Fresh(3 * sizeof(float));
  Launch(device_, {.blocks = 3, .threads = 96, .shared_bytes = 12},
         BlockSum{On<const float>(Put(numbers)), On<float>(sums)});
  EXPECT_EQ(Take<float>(sums), (std::vector<float>{4560, 13776, 22992}));
  EXPECT_EQ(device_.traffic().at("block_sum").loaded, 3 * 96 * 4);
  EXPECT_EQ(device_.traffic().at("block_sum").stored, 3 * 4);
}

TEST_F(HostDeviceTest, CountsTheSectorsThatWarpsTouchAndTripsToTheMemory) {
  const Global<const float> x =
      On<const float>(Put(std::vector<float>(64 * 8)));
  const auto read = [&](auto place) {
    const LaunchTraffic before = device_.traffic().count("free_hand") > 0
                                     ? device_.traffic().at("free_hand")
                                     : LaunchTraffic();
    EXPECT_EQ(Says({.blocks = 2, .threads = 64},
                   [&](const Thread& t) { place(t, t.index()); }),
              "");
    LaunchTraffic now = device_.traffic().at("free_hand");
    now.Take(before);
    return std::pair<int, int>(static_cast<int>(now.sectors), now.trips);
  };
  using Found = std::pair<int, int>;  // sectors and trips of two blocks
  EXPECT_EQ(read([&](const Thread&, int i) { x.Read(i); }), Found(16, 1))
      << "beside each other";
  EXPECT_EQ(read([&](const Thread&, int i) { x.Read(i * 8); }), Found(128, 1))
      << "a sector each";
  EXPECT_EQ(read([&](const Thread&, int) { x.Read(9); }), Found(4, 1))
      << "all lanes the same";
  EXPECT_EQ(read([&](const Thread& t, int i) {
              if (t.warp() == 0) x.Read(0);
              t.Sync();
              x.Read(i * 4);
              x.Read(i * 4);  // another load of the warp
              t.SyncWarp();
            }),
            Found(2 * (1 + 2 * 2 * 16), 2))
      << "parted by a barrier";
  EXPECT_EQ(read([](const Thread& t, int) { t.Sync(); }), Found(0, 0));
}

TEST_F(HostDeviceTest, BallotsAndShufflesOfSomeLanes) {
  const DeviceSpan votes = Fresh(32 * 4);
  const DeviceSpan got = Fresh(32 * 4);
  const Global<std::uint32_t> vote = On<std::uint32_t>(votes);
  const Global<int> number = On<int>(got);
  EXPECT_EQ(Says({},
                 [&](const Thread& t) {
                   const std::uint32_t mine = t.lane() < 8 ? 0xffU : ~0xffU;
                   vote.Write(t.lane(), t.Ballot(t.lane() % 3 == 0, mine));
                   number.Write(t.lane(),
                                t.ShuffleFrom(t.lane() * 10,
                                              t.lane() < 8 ? 7 : 31, mine));
                 }),
            "");
  const std::vector<std::uint32_t> all = Take<std::uint32_t>(votes);
  EXPECT_EQ(all[0], 0x49U);
  EXPECT_EQ(all[31], 0x49249200U);
  const std::vector<int> from = Take<int>(got);
  EXPECT_EQ(from[3], 70);
  EXPECT_EQ(from[8], 310);
}

// The order of threads is drawn anew at every barrier, and follows the seed.
std::array<std::vector<int>, 2> Orders(std::uint64_t seed) {
  HostDevice device({.seed = seed});
  const DeviceSpan next = device.Allocate(8, "next").value();
  const DeviceSpan places = device.Allocate(2 * 64 * 4, "places").value();
  device.FillZero(next);
  const Global<int> counter(device, next);
  const Global<int> place(device, places);
  Launch(device, {.threads = 64}, Free{[=](const Thread& t) {
           for (int turn = 0; turn < 2; ++turn) {
             place.Write(turn * 64 + counter.AtomicAdd(turn, 1), t.index());
             t.Sync();
           }
         }});
  void* pinned = device.AllocatePinned(places.bytes).value();
  device.CopyOut(places, pinned);
  EXPECT_TRUE(device.Finish().ok());
  std::array<std::vector<int>, 2> orders;
  for (std::size_t turn = 0; turn < 2; ++turn) {
    orders[turn].resize(64);
    std::memcpy(orders[turn].data(),
                static_cast<const int*>(pinned) + 64 * turn, 64 * sizeof(int));
  }
  return orders;
}

TEST(HostDeviceOrderTest, IsDrawnAnewAtEveryBarrierFromTheSeed) {
  const auto orders = Orders(1);
  EXPECT_EQ(std::set<int>(orders[0].begin(), orders[0].end()).size(), 64);
  EXPECT_NE(orders[0], orders[1]);
  EXPECT_EQ(orders, Orders(1));
  EXPECT_NE(orders, Orders(2));
}

TEST_F(HostDeviceTest, MultipliesFragmentsOfMatrices) {
  // Small whole numbers: every sum is exact, in any order.
  const auto a = [](int row, int k) { return (row * 7 + k * 3) % 11 - 5; };
  const auto b = [](int k, int column) { return (k * 5 + column) % 9 - 4; };
  const auto bf16 = [](int number) {
    return std::bit_cast<std::uint32_t>(static_cast<float>(number)) >> 16;
  };
  const auto byte = [](int number) {
    return static_cast<std::uint32_t>(number) & 0xffU;
  };
  const DeviceSpan floats = Fresh(16 * 8 * 4);
  const DeviceSpan integers = Fresh(16 * 8 * 4);
  const Global<float> float_sums = On<float>(floats);
  const Global<std::int32_t> integer_sums = On<std::int32_t>(integers);
  EXPECT_EQ(Says({},
                 [&](const Thread& t) {
                   const int group = t.lane() / 4;
                   const int place = t.lane() % 4;
                   std::array<std::uint32_t, 4> fa = {};
                   std::array<std::uint32_t, 4> ia = {};
                   std::array<std::uint32_t, 2> fb = {};
                   std::array<std::uint32_t, 2> ib = {};
                   for (int half = 0; half < 2; ++half) {
                     const auto h = static_cast<std::size_t>(half);
                     for (int i = 0; i < 2; ++i) {
                       const int k = half * 8 + place * 2 + i;
                       for (int high = 0; high < 2; ++high)
                         fa[h * 2 + static_cast<std::size_t>(high)] |=
                             bf16(a(group + 8 * high, k)) << (16 * i);
                       fb[h] |= bf16(b(k, group)) << (16 * i);
                     }
                     for (int i = 0; i < 4; ++i) {
                       const int k = half * 16 + place * 4 + i;
                       for (int high = 0; high < 2; ++high)
                         ia[h * 2 + static_cast<std::size_t>(high)] |=
                             byte(a(group + 8 * high, k)) << (8 * i);
                       ib[h] |= byte(b(k, group)) << (8 * i);
                     }
                   }
                   std::array<float, 4> fc = {1, 1, 1, 1};
                   std::array<std::int32_t, 4> ic = {1, 1, 1, 1};
                   t.Multiply(fa, fb, fc);
                   t.MultiplyBytes(ia, ib, ic);
                   for (int i = 0; i < 4; ++i) {
                     const int at = (group + i / 2 * 8) * 8 + place * 2 + i % 2;
                     float_sums.Write(at, fc[static_cast<std::size_t>(i)]);
                     integer_sums.Write(at, ic[static_cast<std::size_t>(i)]);
                   }
                 }),
            "");
  const std::vector<float> f = Take<float>(floats);
  const std::vector<std::int32_t> n = Take<std::int32_t>(integers);
  for (int row = 0; row < 16; ++row)
    for (int column = 0; column < 8; ++column) {
      int sum = 1;
      for (int k = 0; k < 16; ++k) sum += a(row, k) * b(k, column);
      const auto at = static_cast<std::size_t>(row * 8 + column);
      EXPECT_EQ(f[at], static_cast<float>(sum));
      for (int k = 16; k < 32; ++k) sum += a(row, k) * b(k, column);
      EXPECT_EQ(n[at], sum);
    }
}

TEST_F(HostDeviceTest, ReplaysWhatWasCaptured) {
  const DeviceSpan x = Put<float>({1, 2, 3});
  ASSERT_TRUE(device_.Finish().ok());
  const absl::StatusOr<std::unique_ptr<CudaGraph>> graph = device_.Capture([&] {
    Launch(device_, {}, Scale{On<float>(x), 2});
    Launch(device_, {}, Scale{On<float>(x), 3});
  });
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(Take<float>(x), (std::vector<float>{1, 2, 3}));
  device_.Replay(**graph);
  device_.Replay(**graph);
  EXPECT_EQ(Take<float>(x), (std::vector<float>{36, 72, 108}));
}

// Once, however often what was captured is replayed.
TEST_F(HostDeviceTest, FreesAfterACaptureWhatIsFreedMeanwhile) {
  const DeviceSpan x = Put<float>({1, 2, 3});
  const DeviceSpan dies = Fresh(400);
  ASSERT_TRUE(device_.Finish().ok());
  const std::size_t used = device_.used_bytes();
  const auto graph = device_.Capture([&] {
    Launch(device_, {}, Scale{On<float>(x), 2});
    device_.Free(dies);
  });
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(Take<float>(x), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(device_.used_bytes(), used - 400);
  device_.Replay(**graph);
  device_.Replay(**graph);
  EXPECT_EQ(Take<float>(x), (std::vector<float>{4, 8, 12}));
}

TEST(HostDeviceMemoryTest, SaysWhatIsFreeWhenThereIsNotEnough) {
  HostDevice device({.memory_bytes = 1000});
  const absl::StatusOr<DeviceSpan> first = device.Allocate(600, "weights");
  ASSERT_TRUE(first.ok());
  const absl::Status none = device.Allocate(500, "cache").status();
  EXPECT_EQ(none.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(none.message(),
            "cache: 500 bytes on the device, of which 400 of 1000 are free");
  device.Free(*first);  // is done when only that makes room
  EXPECT_TRUE(device.Allocate(500, "cache").ok());
  EXPECT_EQ(device.used_bytes(), 500);
  EXPECT_EQ(device.peak_bytes(), 600);
}

// Two stages: while one is read, the other is on its way.
TEST_F(HostDeviceTest, CopiesAheadBringNumbersGroupByGroup) {
  constexpr int kStages = 5;
  std::vector<float> numbers(kStages * 128);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = static_cast<float>(i);
  const auto x = On<const float>(Put(numbers));
  const DeviceSpan sums = Fresh(32 * sizeof(float));
  const auto y = On<float>(sums);
  Launch(device_, {.shared_bytes = 2 * 128 * 4}, Free{[=](const Thread& t) {
           const auto ring = t.SharedArray<float>(0, 2 * 128);
           const auto ask = [&](int stage) {
             if (stage < kStages)
               ring.CopyAhead(stage % 2 * 128 + t.index() * 4, x,
                              stage * 128 + t.index() * 4);
             t.CommitCopies();
           };
           ask(0);
           ask(1);
           float sum = 0;
           for (int stage = 0; stage < kStages; ++stage) {
             t.WaitCopies<1>();
             t.SyncWarp();
             // What the next lane asked for.
             const int lane = (t.index() + 1) % 32;
             for (const float number :
                  ring.ReadPack<4>(stage % 2 * 128 + lane * 4).at)
               sum += number;
             t.SyncWarp();
             ask(stage + 2);
           }
           t.WaitCopies<0>();
           y.Write((t.index() + 1) % 32, sum);
         }});
  const std::vector<float> got = Take<float>(sums);
  for (std::size_t lane = 0; lane < 32; ++lane) {
    float expected = 0;
    for (std::size_t stage = 0; stage < kStages; ++stage)
      for (std::size_t i = 0; i < 4; ++i)
        expected += numbers[stage * 128 + lane * 4 + i];
    EXPECT_EQ(got[lane], expected) << lane;
  }
}

}  // namespace
}  // namespace banyan::on_host
