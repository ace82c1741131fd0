#include "core/device/thread_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <thread>
#include <vector>

namespace banyan {
namespace {

// Runs one task and expects each piece once.
void ExpectOneRound(ThreadPool& pool, int pieces) {
  std::vector<int> runs(static_cast<std::size_t>(pieces));
  pool.Run(pieces, [&](int piece) {
    ASSERT_LT(piece, pieces);
    ++runs[static_cast<std::size_t>(piece)];
  });
  EXPECT_THAT(runs, testing::Each(1)) << pieces << " pieces";
}

TEST(ThreadPool, RunsEveryPieceOnce) {
  for (int threads = 1; threads <= 4; ++threads) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (int round = 0; round < 2000; ++round) ExpectOneRound(pool, round % 9);
    ExpectOneRound(pool, 5000);
  }
}

// Each piece waits until all have begun, so each needs a thread of its own.
TEST(ThreadPool, UsesAllItsThreads) {
  for (int threads = 1; threads <= 4; ++threads) {
    ThreadPool pool(threads);
    for (int round = 0; round < 20; ++round) {
      std::atomic<int> begun = 0;
      pool.Run(threads, [&](int /*piece*/) {
        ++begun;
        while (begun < threads) std::this_thread::yield();
      });
      EXPECT_EQ(begun, threads);
    }
  }
}

TEST(ThreadPool, OfOneThreadRunsOnTheCaller) {
  ThreadPool pool(1);
  std::thread::id id;
  pool.Run(3, [&](int /*piece*/) { id = std::this_thread::get_id(); });
  EXPECT_EQ(id, std::this_thread::get_id());
}

// The pauses go from none to long enough for every worker to fall asleep.
TEST(ThreadPool, WakesAfterAnyPause) {
  for (int threads = 1; threads <= 4; ++threads) {
    ThreadPool pool(threads);
    for (int microseconds : {0, 1, 10, 100, 1000, 10000, 50000})
      for (int i = 0; i < 3; ++i) {
        std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
        ExpectOneRound(pool, 2 * threads);
      }
  }
}

// Run returns when the slowest is done, whichever that is, and what the tasks
// wrote is there to read without atomics.
TEST(ThreadPool, WaitsForTheSlowestPiece) {
  ThreadPool pool(4);
  for (int slow = 0; slow < 4; ++slow) {
    std::vector<int> done(4);
    pool.Run(4, [&](int number) {
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
          pool.Run(threads, [&](int number) {
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
    ExpectOneRound(used, 4);
  }
}

}  // namespace
}  // namespace banyan
