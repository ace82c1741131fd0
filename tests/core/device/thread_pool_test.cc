#include "core/device/thread_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <set>
#include <thread>
#include <vector>

namespace banyan {
namespace {

// Runs one task and expects each number once, each on a thread of its own.
void ExpectOneRound(ThreadPool& pool) {
  const auto threads = static_cast<std::size_t>(pool.threads());
  std::vector<int> runs(threads);
  std::vector<std::thread::id> ids(threads);
  pool.Run([&](int number) {
    const auto at = static_cast<std::size_t>(number);
    ASSERT_LT(at, threads);
    ++runs[at];
    ids[at] = std::this_thread::get_id();
  });
  EXPECT_THAT(runs, testing::Each(1));
  EXPECT_EQ(std::set<std::thread::id>(ids.begin(), ids.end()).size(), threads);
}

TEST(ThreadPool, RunsEveryNumberOnceOnAThreadOfItsOwn) {
  for (int threads = 1; threads <= 4; ++threads) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (int round = 0; round < 2000; ++round) ExpectOneRound(pool);
  }
}

TEST(ThreadPool, OfOneThreadRunsOnTheCaller) {
  ThreadPool pool(1);
  std::thread::id id;
  pool.Run([&](int /*number*/) { id = std::this_thread::get_id(); });
  EXPECT_EQ(id, std::this_thread::get_id());
}

// The pauses go from none to long enough for every worker to fall asleep.
TEST(ThreadPool, WakesAfterAnyPause) {
  for (int threads = 1; threads <= 4; ++threads) {
    ThreadPool pool(threads);
    for (int microseconds : {0, 1, 10, 100, 1000, 10000, 50000})
      for (int i = 0; i < 3; ++i) {
        std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
        ExpectOneRound(pool);
      }
  }
}

// Run returns when the slowest is done, whichever that is, and what the tasks
// wrote is there to read without atomics.
TEST(ThreadPool, WaitsForTheSlowestTask) {
  ThreadPool pool(4);
  for (int slow = 0; slow < 4; ++slow) {
    std::vector<int> done(4);
    pool.Run([&](int number) {
      if (number == slow)
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      done[static_cast<std::size_t>(number)] = 1;
    });
    EXPECT_THAT(done, testing::Each(1)) << "slow: " << slow;
  }
}

TEST(ThreadPool, CallersTakeTurns) {
  constexpr int kCallers = 3;
  constexpr int kRounds = 500;
  for (int threads = 1; threads <= 4; ++threads) {
    ThreadPool pool(threads);
    std::atomic<int> callers_inside = 0;
    std::atomic<int> clashes = 0;
    std::vector<std::vector<int>> runs(
        kCallers, std::vector<int>(static_cast<std::size_t>(threads)));
    std::vector<std::thread> callers;
    for (int caller = 0; caller < kCallers; ++caller)
      callers.emplace_back([&, caller] {
        auto& mine = runs[static_cast<std::size_t>(caller)];
        for (int round = 0; round < kRounds; ++round)
          pool.Run([&](int number) {
            if (number == 0 && ++callers_inside > 1) ++clashes;
            ++mine[static_cast<std::size_t>(number)];
            if (number == 0) --callers_inside;
          });
      });
    for (std::thread& caller : callers) caller.join();
    EXPECT_EQ(clashes, 0);
    for (const auto& mine : runs) EXPECT_THAT(mine, testing::Each(kRounds));
  }
}

TEST(ThreadPool, StartsAndStopsAnyNumberOfTimes) {
  for (int i = 0; i < 200; ++i) {
    ThreadPool idle(1 + i % 4);
    ThreadPool used(1 + i % 4);
    ExpectOneRound(used);
  }
}

}  // namespace
}  // namespace banyan
