#include "core/ops/cpu/cpu_backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "core/base/common.h"
#include "core/ops/cpu/pieces.h"
#include "core/ops/cpu/tiles.h"

namespace banyan {
namespace {

TEST(CpuBackend, TakesTheBestInstructionSetUnlessAskedForAnother) {
  const std::vector<std::string> sets = CpuBackend::InstructionSets();
  ASSERT_FALSE(sets.empty());
  EXPECT_EQ(std::set<std::string>(sets.begin(), sets.end()).size(),
            sets.size());
  const auto best = CpuBackend::Create();
  ASSERT_TRUE(best.ok()) << best.status();
  EXPECT_EQ((*best)->facts().instruction_set, sets.front());
  EXPECT_GE((*best)->threads(), 1);
  for (const std::string& set : sets) {
    const auto asked =
        CpuBackend::Create({.threads = 2, .instruction_set = set});
    ASSERT_TRUE(asked.ok()) << asked.status();
    EXPECT_EQ((*asked)->facts().instruction_set, set);
    EXPECT_EQ((*asked)->facts().threads, 2);
    EXPECT_THAT((*asked)->description(),
                testing::AllOf(testing::HasSubstr(set),
                               testing::HasSubstr("2 threads")));
  }
}

// What Linux says the first processor has; nothing elsewhere.
std::set<std::string> ProcessorFlags() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.rfind("flags", 0) == 0) return absl::StrSplit(line, ' ');
  return {};
}

// The tests that loop over the instruction sets say nothing of a list of one.
TEST(CpuBackend, KnowsPlainCppAndWhatTheProcessorHas) {
  const std::vector<std::string> sets = CpuBackend::InstructionSets();
  ASSERT_FALSE(sets.empty());
  EXPECT_THAT(sets, testing::Contains(testing::AnyOf("SCALAR", "EMU128")));
  const std::set<std::string> flags = ProcessorFlags();
  if (flags.contains("avx2")) {
    EXPECT_THAT(sets, testing::Contains("AVX2"));
  }
  int avx512 = 0;
  for (const char* part :
       {"avx512f", "avx512bw", "avx512vl", "avx512dq", "avx512cd"})
    avx512 += flags.contains(part) ? 1 : 0;
  if (avx512 == 5) {
    EXPECT_THAT(sets, testing::Contains("AVX3"));
  }
#if defined(__x86_64__)
  EXPECT_EQ(sets.back(), "AMX_EMULATED");
  int amx = 0;
  for (const char* part : {"amx_tile", "amx_bf16", "amx_int8"})
    amx += flags.contains(part) ? 1 : 0;
  EXPECT_EQ(sets.front() == "AMX",
            amx == 3 && AskForAmx() == AmxState::kAllowed);
  EXPECT_EQ(std::count(sets.begin(), sets.end(), "AMX"),
            sets.front() == "AMX" ? 1 : 0);
#endif
}

// Linux keeps tile registers from a program until it asks for them.
TEST(CpuBackend, SaysThatTheSystemRefusesAmxAndTakesTheNextBest) {
  const auto refused = CpuBackend::Create({.amx = AmxState::kRefused});
  ASSERT_TRUE(refused.ok()) << refused.status();
  const std::string taken = (*refused)->facts().instruction_set;
  EXPECT_THAT(taken, testing::Not(testing::HasSubstr("AMX")));
  EXPECT_EQ((*refused)->facts().note,
            "this processor has AMX, which the system does not allow: taking " +
                taken);
  const auto absent = CpuBackend::Create({.amx = AmxState::kAbsent});
  ASSERT_TRUE(absent.ok()) << absent.status();
  EXPECT_EQ((*absent)->facts().note, "");
  EXPECT_THAT(
      CpuBackend::Create({.instruction_set = "AMX", .amx = AmxState::kRefused})
          .status()
          .message(),
      testing::HasSubstr("AMX, which the system does not allow"));
}

TEST(CpuBackend, RefusesWhatItCannotBe) {
  const auto negative = CpuBackend::Create({.threads = -1});
  EXPECT_EQ(negative.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(negative.status().message(), testing::HasSubstr("-1"));
  const auto many = CpuBackend::Create({.threads = 257});
  EXPECT_FALSE(many.ok());
  EXPECT_THAT(many.status().message(), testing::HasSubstr("257"));
  const auto unknown = CpuBackend::Create({.instruction_set = "MMX"});
  EXPECT_FALSE(unknown.ok());
  EXPECT_THAT(unknown.status().message(),
              testing::AllOf(
                  testing::HasSubstr("MMX"),
                  testing::HasSubstr(CpuBackend::InstructionSets().front())));
}

// Every row of every head is in one part, and no part is empty.
TEST(RowsByHead, CutsAllRowsIntoPartsThatThreadsShareEvenly) {
  int even = 0;
  for (int group : {1, 2, 3, 5, 8, 13, 16, 32, 71})
    for (int kv_heads : {1, 2, 3, 8})
      for (int rows : {1, 2, 3, 5, 6, 16, 40, 64, 257})
        for (int threads : {1, 2, 3, 5, 16}) {
          const std::vector<HeadRows> parts =
              RowsByHead(rows, group * kv_heads, kv_heads, threads);
          std::vector<int> next(static_cast<std::size_t>(kv_heads));
          for (const HeadRows& part : parts) {
            int& end = next[static_cast<std::size_t>(part.kv_head)];
            ASSERT_EQ(part.first, end);
            ASSERT_GT(part.count, 0);
            ASSERT_LE(part.count, std::max(1, kQueryRows / group));
            end += part.count;
          }
          for (int end : next) ASSERT_EQ(end, rows);
          const bool fewest = static_cast<int>(parts.size()) / kv_heads ==
                              (rows - 1) / std::max(1, kQueryRows / group) + 1;
          if (!fewest) {
            EXPECT_EQ(static_cast<int>(parts.size()) % threads, 0);
            ++even;
          }
        }
  EXPECT_GT(even, 100) << "nothing was cut further";
}

}  // namespace
}  // namespace banyan
