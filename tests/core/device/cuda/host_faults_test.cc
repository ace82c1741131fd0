// What kernels and callers may not do on the host device: planted faults, each
// with the words it is told in.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/common.h"
#include "core/device/cuda/host_device.h"
#include "core/device/cuda/kernel.h"
#include "core/device/cuda/span.h"
#include "tests/core/device/cuda/host_fixture.h"

namespace banyan::on_host {
namespace {

using testing::AllOf;
using testing::HasSubstr;
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

// To the GPU each is an instruction of its own. A macro's argument is one line.
TEST_F(HostDeviceFault, LanesDoTheSameWorkAtDifferentPlaces) {
  const auto ballots = [](const Thread& t) {
    if (t.lane() < 20)
      t.Ballot(true);
    else
      t.Ballot(false);
  };
  EXPECT_THAT(Says({}, ballots),
              AllOf(HasSubstr("ballot of lanes ffffffff in line "),
                    HasSubstr(" is at ballot of lanes ffffffff in line ")));
  const auto products = [](const Thread& t) {
    std::array<float, 4> c = {};
    if (t.lane() < 20)
      t.Multiply({}, {}, c);
    else
      t.Multiply({}, {}, c);
  };
  HostDevice device({});
  Launch(device, {}, Free{products});
  EXPECT_THAT(std::string(device.Finish().message()),
              HasSubstr(" is at matrix product of lanes ffffffff in line "));
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
              "emulated_gpu: kernel free_hand: the device is lost, as was "
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
