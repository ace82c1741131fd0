// Tables whose memory runs out wherever it may while they grow.
#include "core/json/flat_map.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <new>
#include <string>
#include <utility>

namespace {

// Allocations until one fails; below 0: none does.
int left = -1;

}  // namespace

// A table that could not grow gives its storage up, which is a leak.
extern "C" const char* __asan_default_options() { return "detect_leaks=0"; }

#if defined(__GNUC__) && !defined(__clang__)
// It does not see that both are replaced.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
#endif

void* operator new(std::size_t size) {
  if (left == 0) throw std::bad_alloc();
  if (left > 0) --left;
  if (void* memory = std::malloc(size); memory != nullptr) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace banyan {
namespace {

// Fills a table until the allocation `fails` fails; gives whether it did.
template <typename Fill>
bool FailsAt(int fails, Fill fill) {
  left = fails;
  bool failed = false;
  try {
    fill();
  } catch (const std::bad_alloc&) {
    failed = true;
  }
  left = -1;
  return failed;
}

template <typename Table, typename Insert>
void ExpectSurvival(Insert insert) {
  int failures = 0;
  for (int fails = 0;; ++fails) {
    Table table;
    const bool failed = FailsAt(fails, [&] {
      for (int i = 0; i < 200; ++i) insert(table, i);
    });
    if (!failed) break;
    ++failures;
    // What is left can be read, filled and destroyed.
    std::size_t count = 0;
    for (const auto& entry : table) count += sizeof(entry) > 0 ? 1 : 0;
    EXPECT_EQ(count, table.size());
    for (int i = 0; i < 50; ++i) insert(table, i);
    EXPECT_GE(table.size(), 50U);
  }
  EXPECT_GE(failures, 6);
}

using Map = FlatMap<std::string, int>;
std::string Key(int i) { return std::to_string(i); }

TEST(FlatMap, SurvivesWhereverMemoryRunsOut) {
  ExpectSurvival<Map>([](Map& map, int i) { map[Key(i)] = i; });
  ExpectSurvival<Map>([](Map& map, int i) { map.emplace(Key(i), i); });
  ExpectSurvival<Map>([](Map& map, int i) { map.try_emplace(Key(i), i); });
  ExpectSurvival<Map>(
      [](Map& map, int i) { map.insert(std::pair(Key(i), i)); });
}

TEST(FlatSet, SurvivesWhereverMemoryRunsOut) {
  using Set = FlatSet<std::string>;
  ExpectSurvival<Set>([](Set& set, int i) { set.insert(Key(i)); });
}

TEST(FlatMap, SurvivesReserving) {
  Map map;
  map["a"] = 1;
  EXPECT_TRUE(FailsAt(0, [&] { map.reserve(10000); }));
  EXPECT_TRUE(map.empty());
  map["b"] = 2;
  EXPECT_EQ(2, map["b"]);
}

}  // namespace
}  // namespace banyan
