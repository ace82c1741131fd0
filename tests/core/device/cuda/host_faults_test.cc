// What kernels and callers may not do on the host device: planted faults, each
// with the words it is told in.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
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
using testing::AnyOf;
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

// A warp that brings four numbers a lane to its block, and waits for them: 32
// packs that stand one after the other.
class HostDeviceCopy : public HostDeviceTest {
 protected:
  static constexpr LaunchShape kShape = {.shared_bytes = 32 * kAheadBytes};

  // Asks for the lane's own pack.
  void Ask(const Thread& t) const {
    Place(t).CopyAhead(t.index() * 4, x_, t.index() * 4);
  }
  static Shared<float> Place(const Thread& t) {
    return t.SharedArray<float>(0, 128);
  }

  const Global<const float> x_ =
      On<const float>(Put(std::vector<float>(128, 7)));
};

TEST_F(HostDeviceCopy, IsTouchedBeforeItArrives) {
  for (const bool other : {false, true})
    EXPECT_THAT(
        Says(kShape,
             [=, this](const Thread& t) {
               Ask(t);
               t.CommitCopies();
               t.Sync();
               Place(t).Read(other ? 124 - t.index() * 4 : t.index() * 4);
             }),
        AllOf(HasSubstr("reads what a copy of thread "),
              HasSubstr(" is bringing (shared memory")));
}

TEST_F(HostDeviceCopy, IsWrittenOverBeforeItArrives) {
  EXPECT_THAT(Says(kShape,
                   [this](const Thread& t) {
                     Ask(t);
                     t.CommitCopies();
                     if (t.index() == 3) Place(t).Write(12, 1);
                     t.WaitCopies<0>();
                   }),
              HasSubstr("thread 3: writes where a copy of thread 3 goes"));
}

TEST_F(HostDeviceCopy, IsReadByOthersWithNoBarrierBetween) {
  EXPECT_THAT(Says(kShape,
                   [this](const Thread& t) {
                     Ask(t);
                     t.CommitCopies();
                     t.WaitCopies<0>();
                     t.Ballot(true);  // which is no barrier
                     Place(t).Read((t.index() ^ 1) * 4);
                   }),
              AllOf(HasSubstr(" reads what thread "),
                    HasSubstr(" wrote with no barrier between")));
}

// Whether the reader or the one who asks comes first, nothing parts them.
TEST_F(HostDeviceCopy, GoesWhereOthersStillRead) {
  EXPECT_THAT(
      Says(kShape,
           [this](const Thread& t) {
             Place(t).WritePack<4>(t.index() * 4, {});
             t.SyncWarp();
             Place(t).Read((t.index() ^ 1) * 4);
             Ask(t);
             t.CommitCopies();
             t.WaitCopies<0>();
           }),
      AnyOf(AllOf(HasSubstr("writes what thread "), HasSubstr(" reads")),
            HasSubstr("wrote with no barrier between")));
}

TEST_F(HostDeviceCopy, ReadsWhatIsWrittenMeanwhile) {
  const Global<float> x = On<float>(Put(std::vector<float>(128, 7)));
  EXPECT_THAT(Says(kShape,
                   [=](const Thread& t) {
                     Place(t).CopyAhead(t.index() * 4, x, t.index() * 4);
                     t.CommitCopies();
                     x.Write(t.index() * 4, 1);
                     t.WaitCopies<0>();
                   }),
              HasSubstr("writes what a copy under way reads (numbers"));
}

TEST_F(HostDeviceCopy, IsUnderWayWhenItsThreadEnds) {
  EXPECT_THAT(Says(kShape,
                   [this](const Thread& t) {
                     Ask(t);
                     t.CommitCopies();
                     if (t.index() != 9) t.WaitCopies<0>();
                   }),
              HasSubstr("thread 9: ends with 1 copies under way"));
}

// A wait knows nothing of what is in no group.
TEST_F(HostDeviceCopy, InNoGroupIsNotWaitedFor) {
  EXPECT_THAT(Says(kShape,
                   [this](const Thread& t) {
                     Ask(t);
                     t.WaitCopies<0>();
                     Place(t).Read(t.index() * 4);
                   }),
              HasSubstr("reads what a copy of thread "));
}

TEST_F(HostDeviceCopy, OfALaterGroupIsNotWaitedFor) {
  EXPECT_THAT(Says({.shared_bytes = 64 * kAheadBytes},
                   [this](const Thread& t) {
                     const auto two = t.SharedArray<float>(0, 256);
                     for (int i = 0; i < 2; ++i) {
                       two.CopyAhead(i * 128 + t.index() * 4, x_,
                                     t.index() * 4);
                       t.CommitCopies();
                     }
                     t.WaitCopies<1>();
                     if (two.Read(t.index() * 4) != 7) two.Read(-1);
                     two.Read(128 + t.index() * 4);
                   }),
              HasSubstr("reads what a copy of thread "));
}

TEST_F(HostDeviceCopy, StandsAtNoMultipleOfItsSize) {
  EXPECT_THAT(Says(kShape,
                   [this](const Thread& t) {
                     if (t.index() == 5) Place(t).CopyAhead(0, x_, 2);
                   }),
              HasSubstr("accesses 16 bytes at once at number 2"));
}

// A launch that is set up early touches, before it awaits the one before it,
// what older ones wrote, and nothing of that one.
class HostDeviceEarly : public HostDeviceTest {
 protected:
  // Two launches, an early one last.
  std::string After(std::function<void(const Thread&)> first,
                    std::function<void(const Thread&)> second) {
    Launch(device_, {}, Free{std::move(first)});
    return Says({.early = true}, std::move(second));
  }
  const Global<float> x_ = On<float>(Put(std::vector<float>(32)));
};

TEST_F(HostDeviceEarly, ReadsWhatTheLaunchBeforeWrote) {
  const auto write = [this](const Thread& t) { x_.Write(t.index(), 1); };
  EXPECT_THAT(After(write,
                    [this](const Thread& t) {
                      x_.Read(t.index());
                      t.AwaitLaunchBefore();
                    }),
              HasSubstr("reads what the launch before wrote, which was not "
                        "awaited (numbers"));
}

TEST_F(HostDeviceEarly, WritesWhatTheLaunchBeforeReads) {
  const auto read = [this](const Thread& t) { x_.Read(t.index()); };
  EXPECT_THAT(After(read,
                    [this](const Thread& t) {
                      x_.Write(t.index(), 1);
                      t.AwaitLaunchBefore();
                    }),
              HasSubstr("writes what the launch before touches"));
}

TEST_F(HostDeviceEarly, CopiesWhatTheLaunchBeforeWrote) {
  EXPECT_THAT(
      [this] {
        Launch(device_, {},
               Free{[this](const Thread& t) { x_.Write(t.index(), 1); }});
        return Says({.shared_bytes = kAheadBytes, .early = true},
                    [this](const Thread& t) {
                      if (t.index() == 0)
                        t.SharedArray<float>(0, 4).CopyAhead(0, x_, 0);
                      t.AwaitLaunchBefore();
                    });
      }(),
      HasSubstr("reads what the launch before wrote"));
}

TEST_F(HostDeviceEarly, NeverAwaitsTheLaunchBefore) {
  EXPECT_THAT(After([](const Thread&) {},
                    [](const Thread& t) {
                      if (t.index() != 30) t.AwaitLaunchBefore();
                    }),
              HasSubstr("thread 30: ends without having awaited the launch"));
}

TEST_F(HostDeviceEarly, MayReadWhatOlderLaunchesWrote) {
  Launch(device_, {},
         Free{[this](const Thread& t) { x_.Write(t.index(), 1); }});
  const Global<float> y = On<float>(Fresh(128));
  EXPECT_EQ(After([=](const Thread& t) { y.Write(t.index(), 2); },
                  [=, this](const Thread& t) {
                    const float older = x_.Read(t.index());
                    t.AwaitLaunchBefore();
                    y.Write(t.index(), y.Read(t.index()) + older);
                  }),
            "");
}

}  // namespace
}  // namespace banyan::on_host
