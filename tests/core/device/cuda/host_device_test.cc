// The host device: what kernels may do works, and each thing they may not do is
// an error with a name.
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

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/device/cuda/kernel.h"
#include "core/device/cuda/span.h"

namespace banyan::on_host {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// A kernel that a test writes where it is launched.
struct Free {
  static constexpr const char* kName = "free_hand";
  std::function<void(const Thread&)> run;
  void operator()(const Thread& t) const { run(t); }
};

class HostDeviceTest : public testing::Test {
 protected:
  explicit HostDeviceTest(std::uint64_t seed = 1) : device_({.seed = seed}) {}

  // Memory that holds these numbers.
  template <typename T>
  DeviceSpan Put(const std::vector<T>& numbers) {
    const DeviceSpan span = Fresh(numbers.size() * sizeof(T));
    void* pinned = device_.AllocatePinned(span.bytes).value();
    std::memcpy(pinned, numbers.data(), span.bytes);
    device_.CopyIn(pinned, span);
    return span;
  }
  DeviceSpan Fresh(std::size_t bytes) {
    return device_.Allocate(bytes, "numbers").value();
  }
  template <typename T>
  std::vector<T> Take(DeviceSpan span) {
    void* pinned = device_.AllocatePinned(span.bytes).value();
    device_.CopyOut(span, pinned);
    const absl::Status status = device_.Finish();
    EXPECT_TRUE(status.ok()) << status;
    std::vector<T> numbers(span.bytes / sizeof(T));
    std::memcpy(numbers.data(), pinned, span.bytes);
    return numbers;
  }
  // What a launch of so many threads says.
  std::string Says(LaunchShape shape, std::function<void(const Thread&)> run) {
    Launch(device_, shape, Free{std::move(run)});
    return std::string(device_.Finish().message());
  }
  template <typename T>
  Global<T> On(DeviceSpan span) {
    return Global<T>(device_, span);
  }

  HostDevice device_;
};

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

// Planted faults, each with the words it is told in.

using HostDeviceFault = HostDeviceTest;

TEST_F(HostDeviceFault, FreshMemoryIsRead) {
  const Global<float> x = On<float>(Fresh(64));
  EXPECT_THAT(Says({},
                   [=](const Thread& t) {
                     if (t.index() == 5) x.Read(3);
                   }),
              "kernel free_hand, block 0, thread 5: reads what nothing has "
              "written (numbers, byte 12)");
}

TEST_F(HostDeviceFault, FreshSharedMemoryIsRead) {
  EXPECT_THAT(Says({.blocks = 2, .shared_bytes = 4},
                   [](const Thread& t) {
                     const auto shared = t.SharedArray<float>(0, 1);
                     if (t.block() == 0 && t.index() == 0) shared.Write(0, 1);
                     if (t.block() == 1 && t.index() == 0) shared.Read(0);
                   }),
              AllOf(HasSubstr("block 1, thread 0"),
                    HasSubstr("reads what nothing has written (shared")));
}

TEST_F(HostDeviceFault, MemoryThatWasFreedAndTakenAgainIsRead) {
  const DeviceSpan first = Put<float>({1});
  device_.Free(first);
  ASSERT_TRUE(device_.Finish().ok());
  const Global<float> x = On<float>(Fresh(4));
  EXPECT_THAT(Says({},
                   [=](const Thread& t) {
                     if (t.index() == 0) x.Read(0);
                   }),
              HasSubstr("reads what nothing has written"));
}

TEST_F(HostDeviceFault, AnotherThreadsNumberIsReadWithNoBarrierBetween) {
  for (const bool shared : {false, true}) {
    HostDevice device({.seed = 3});
    const Global<float> x(device, device.Allocate(64 * 4, "numbers").value());
    Launch(device, {.threads = 64, .shared_bytes = 64 * 4},
           Free{[=](const Thread& t) {
             const auto own = t.SharedArray<float>(0, 64);
             const auto& numbers =
                 shared ? static_cast<const Numbers<float>&>(own) : x;
             numbers.Write(t.index(), 1);
             t.SyncWarp();
             numbers.Read(t.index() ^ 1);   // of its own warp
             numbers.Read(t.index() ^ 32);  // of the other
           }});
    EXPECT_THAT(std::string(device.Finish().message()),
                AllOf(HasSubstr(" reads what thread "),
                      HasSubstr(" wrote with no barrier between")));
  }
}

TEST_F(HostDeviceFault, AnotherLanesNumberIsReadWithNoBarrierBetween) {
  const Global<float> x = On<float>(Fresh(32 * 4));
  EXPECT_THAT(Says({},
                   [=](const Thread& t) {
                     x.Write(t.lane(), 1);
                     t.Ballot(true);  // orders no memory
                     x.Read(t.lane() ^ 1);
                   }),
              HasSubstr(" wrote with no barrier between"));
}

TEST_F(HostDeviceFault, WhatOthersReadIsWrittenWithNoBarrierBetween) {
  const Global<float> x = On<float>(Put<float>({1}));
  EXPECT_THAT(Says({},
                   [=](const Thread& t) {
                     if (t.lane() == 4) x.Read(0);
                     t.Ballot(true);  // in this order, but none is promised
                     if (t.lane() == 9) x.Write(0, 2);
                   }),
              HasSubstr("thread 9: writes what thread 4 reads with no barrier "
                        "between"));
}

TEST_F(HostDeviceFault, TwoThreadsWriteOneNumber) {
  const Global<float> x = On<float>(Fresh(4));
  EXPECT_THAT(Says({}, [=](const Thread&) { x.Write(0, 1); }),
              AllOf(HasSubstr("writes what thread"),
                    HasSubstr("wrote with no barrier between")));
}

TEST_F(HostDeviceFault, AnotherBlocksNumberIsRead) {
  const Global<float> x = On<float>(Fresh(8));
  EXPECT_THAT(
      Says({.blocks = 2},
           [=](const Thread& t) {
             if (t.index() != 7) return;
             x.Write(t.block(), 1);
             if (t.block() == 1) x.Read(0);
           }),
      "kernel free_hand, block 1, thread 7: reads what thread 7 of block "
      "0 wrote in the same launch, where no barrier parts blocks "
      "(numbers, byte 0)");
}

TEST_F(HostDeviceFault, ABlockWritesWhatAnotherReads) {
  const Global<float> x = On<float>(Put<float>({1, 1}));
  EXPECT_THAT(Says({.blocks = 3},
                   [=](const Thread& t) {
                     if (t.index() != 0) return;
                     x.Read(0);
                     if (t.block() == 2) x.Write(0, 2);
                   }),
              HasSubstr("writes what thread 0 reads"));
}

TEST_F(HostDeviceFault, ABarrierIsNotReachedByAll) {
  EXPECT_THAT(Says({.threads = 64},
                   [](const Thread& t) {
                     if (t.index() != 40) t.Sync();
                   }),
              HasSubstr("waits at a barrier that thread 40 has ended without"));
}

TEST_F(HostDeviceFault, AWarpsWorkIsNotReachedByAllItsLanes) {
  EXPECT_THAT(
      Says({},
           [](const Thread& t) {
             if (t.lane() != 3) t.Ballot(true);
           }),
      HasSubstr("ballot of lanes ffffffff: not all of them come to it"));
}

TEST_F(HostDeviceFault, ALaneIsNotAmongThoseItNames) {
  EXPECT_THAT(Says({}, [](const Thread& t) { t.Ballot(true, 0xffff); }),
              HasSubstr("ballot: is not among the lanes it names, ffff"));
}

TEST_F(HostDeviceFault, LanesNameDifferentLanes) {
  EXPECT_THAT(
      Says({}, [](const Thread& t) { t.SyncWarp(t.lane() < 20 ? ~0U : ~1U); }),
      AllOf(HasSubstr("warp barrier of lanes "), HasSubstr(" is at ")));
}

TEST_F(HostDeviceFault, LanesDoDifferentWork) {
  EXPECT_THAT(Says({},
                   [](const Thread& t) {
                     if (t.lane() < 20)
                       t.Ballot(true);
                     else
                       t.SyncWarp();
                   }),
              AllOf(HasSubstr("ballot"), HasSubstr("warp barrier")));
}

TEST_F(HostDeviceFault, ALaneThatTakesNoPartIsAsked) {
  EXPECT_THAT(Says({},
                   [](const Thread& t) {
                     if (t.lane() < 16) t.ShuffleFrom(1, 20, 0xffff);
                   }),
              HasSubstr("asks lane 20, which takes no part"));
}

TEST_F(HostDeviceFault, NumbersAtOnceDoNotStandAtAMultipleOfTheirSize) {
  const Global<const float> x = On<const float>(Put<float>({1, 2, 3, 4, 5, 6}));
  EXPECT_THAT(Says({},
                   [=](const Thread& t) {
                     if (t.index() == 0) x.ReadPack<4>(2);
                   }),
              HasSubstr("accesses 16 bytes at once at number 2"));
}

TEST_F(HostDeviceFault, AnAccessIsOutOfBounds) {
  const Global<float> x = On<float>(Put<float>({1, 2, 3, 4}).Part(0, 12));
  for (const std::int64_t i : {std::int64_t{3}, std::int64_t{-1}}) {
    HostDevice device({});
    Launch(device, {}, Free{[=](const Thread& t) {
             if (t.index() == 0) x.Write(i, 1);
           }});
    EXPECT_THAT(std::string(device.Finish().message()), HasSubstr("of 3"));
  }
  EXPECT_THAT(Says({.shared_bytes = 8},
                   [](const Thread& t) { t.SharedArray<float>(4, 2); }),
              HasSubstr("accesses numbers 4 to 11 of 8"));
}

TEST_F(HostDeviceFault, ALaunchIsOfAShapeThatNoGpuHas) {
  int refused = 0;
  for (const LaunchShape& shape :
       {LaunchShape{.blocks = 0}, LaunchShape{.threads = 0},
        LaunchShape{.threads = 33}, LaunchShape{.threads = 1056},
        LaunchShape{.shared_bytes = (163 << 10) + 1}}) {
    HostDevice device({});
    Launch(device, shape, Free{[](const Thread&) {}});
    EXPECT_THAT(std::string(device.Finish().message()),
                HasSubstr("kernel free_hand: launched as "));
    ++refused;
  }
  EXPECT_EQ(refused, 5);
  EXPECT_EQ(
      Says({.threads = 1024, .shared_bytes = 163 << 10}, [](const Thread&) {}),
      "");
}

TEST_F(HostDeviceFault, PinnedMemoryIsFreedUnderACopy) {
  const DeviceSpan x = Fresh(64);
  void* pinned = device_.AllocatePinned(64).value();
  device_.CopyIn(pinned, x);
  device_.FreePinned(pinned);
  EXPECT_THAT(std::string(device_.Finish().message()),
              AllOf(HasSubstr("copy to the device"),
                    HasSubstr("freed before the copy was done")));
}

TEST_F(HostDeviceFault, MemoryThatIsNotPinnedIsCopied) {
  std::vector<float> own(16);
  device_.CopyOut(Put(own), own.data());
  EXPECT_THAT(
      std::string(device_.Finish().message()),
      AllOf(HasSubstr("copy from the device"), HasSubstr("not pinned")));
}

TEST_F(HostDeviceFault, MemoryIsAllocatedWhileCapturing) {
  absl::Status none;
  ASSERT_TRUE(
      device_.Capture([&] { none = device_.Allocate(64, "rows").status(); })
          .ok());
  EXPECT_EQ(none.message(), "rows: no memory is allocated while capturing");
  EXPECT_TRUE(device_.Allocate(64, "rows").ok());
}

TEST_F(HostDeviceFault, TheDeviceIsLost) {
  HostDevice device({.launches = 2});
  for (int launches = 1; launches < 4; ++launches) {
    Launch(device, {}, Free{[](const Thread&) {}});
    const absl::Status status = device.Finish();
    EXPECT_EQ(status.ok(), launches <= 2);
    if (status.ok()) continue;
    EXPECT_EQ(status.message(),
              "host device: kernel free_hand: the device is lost, as was "
              "asked for after 2 launches");
  }
}

TEST_F(HostDeviceFault, EverythingAfterAFaultFailsWithIt) {
  const Global<float> x = On<float>(Fresh(64));
  const std::string first = Says({}, [=](const Thread&) { x.Read(0); });
  EXPECT_NE(first, "");
  EXPECT_EQ(Says({}, [](const Thread&) {}), first);
}

}  // namespace
}  // namespace banyan::on_host
