#include "core/device/thread_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <new>
#include <thread>
#include <vector>

namespace banyan {
namespace {

// Runs one task and expects each piece once.
void ExpectOneRound(ThreadPool& pool, int pieces) {
  // A counter is written by one thread and read after Run, without atomics.
  std::vector<int> runs(static_cast<std::size_t>(pieces));
  pool.Run(pieces, [&](int piece) {
    ASSERT_GE(piece, 0);
    ASSERT_LT(piece, pieces);
    ++runs[static_cast<std::size_t>(piece)];
  });
  EXPECT_THAT(runs, testing::Each(1));
}

TEST(ThreadPool, RunsEveryPieceOnce) {
  for (int threads = 1; threads <= 4; ++threads) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (int round = 0; round < 4000; ++round)
      ExpectOneRound(pool, round % 2 == 0 ? threads : round % 37);
  }
}

TEST(ThreadPool, OfOneThreadRunsOnTheCallerInOrder) {
  ThreadPool pool(1);
  const std::thread::id caller = std::this_thread::get_id();
  std::vector<int> pieces;
  pool.Run(5, [&](int piece) {
    pieces.push_back(piece);
    EXPECT_EQ(std::this_thread::get_id(), caller);
  });
  EXPECT_THAT(pieces, testing::ElementsAre(0, 1, 2, 3, 4));
}

// One piece that waits does not keep the others from being run, by as many
// threads as there are.
TEST(ThreadPool, RunsTheOtherPiecesWhileOneWaits) {
  for (int threads = 2; threads <= 4; ++threads) {
    ThreadPool pool(threads);
    std::atomic<int> done = 0;
    pool.Run(20, [&](int piece) {
      while (piece == 0 && done < 19) std::this_thread::yield();
      ++done;
    });
    EXPECT_EQ(done, 20);
  }
}

// The pauses go from none to long enough for every worker to fall asleep.
TEST(ThreadPool, WakesAfterAnyPause) {
  for (int threads = 1; threads <= 4; ++threads) {
    ThreadPool pool(threads);
    for (int microseconds : {0, 1, 10, 100, 1000, 10000, 50000})
      for (int i = 0; i < 3; ++i) {
        std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
        ExpectOneRound(pool, threads);
      }
  }
}

// Run returns when the slowest is done, whichever that is, and what the tasks
// wrote is there to read without atomics.
TEST(ThreadPool, WaitsForTheSlowestTask) {
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

// Where there is something to share; one piece, or one thread, needs no turn.
TEST(ThreadPool, CallersTakeTurns) {
  constexpr int kCallers = 3;
  constexpr int kRounds = 500;
  constexpr int kPieces = 5;
  for (int threads = 1; threads <= 4; ++threads) {
    ThreadPool pool(threads);
    std::atomic<int> inside[kCallers] = {};
    std::atomic<int> clashes = 0;
    std::vector<std::vector<int>> runs(kCallers, std::vector<int>(kPieces));
    std::vector<std::thread> callers;
    for (int caller = 0; caller < kCallers; ++caller)
      callers.emplace_back([&, caller] {
        auto& mine = runs[static_cast<std::size_t>(caller)];
        for (int round = 0; round < kRounds; ++round)
          pool.Run(kPieces, [&](int piece) {
            ++inside[caller];
            for (int other = 0; other < kCallers; ++other)
              if (other != caller && inside[other] > 0) ++clashes;
            ++mine[static_cast<std::size_t>(piece)];
            --inside[caller];
          });
      });
    for (std::thread& caller : callers) caller.join();
    if (threads > 1) {
      EXPECT_EQ(clashes, 0);
    }
    for (const auto& mine : runs) EXPECT_THAT(mine, testing::Each(kRounds));
  }
}

// Memory may run out on any thread: that ends the call, not the program.
TEST(ThreadPool, ThrowsWhatAPieceThrowsOnceAllHaveRun) {
  for (int threads = 1; threads <= 4; ++threads)
    for (int wrong = 0; wrong < 8; ++wrong) {
      ThreadPool pool(threads);
      std::atomic<int> ran = 0;
      EXPECT_THROW(pool.Run(8,
                            [&](int piece) {
                              ++ran;
                              if (piece == wrong) throw std::bad_alloc();
                            }),
                   std::bad_alloc);
      EXPECT_EQ(ran, threads == 1 ? wrong + 1 : 8);
      ExpectOneRound(pool, 7);  // and it is as it was
    }
}

TEST(ThreadPool, StartsAndStopsAnyNumberOfTimes) {
  for (int i = 0; i < 200; ++i) {
    ThreadPool idle(1 + i % 4);
    ThreadPool used(1 + i % 4);
    ExpectOneRound(used, 7);
  }
}

}  // namespace
}  // namespace banyan
