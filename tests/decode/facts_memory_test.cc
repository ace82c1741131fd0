// Recording a round costs no memory of the method's size: rows over the
// vocabulary that are held at once, counted as blocks of that size.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "core/base/token.h"
#include "core/random/seeded_source.h"
#include "decode/decoder.h"
#include "decode/method.h"
#include "decode/round.h"
#include "decode/sequence.h"
#include "tests/conformance/toys.h"
#include "tests/support/decoding.h"
#include "tests/support/table_drafter.h"
#include "tree/draft_tree.h"

namespace banyan {
namespace {

constexpr int kVocabulary = 2048;
constexpr std::size_t kRowBytes = kVocabulary * sizeof(double);

// Blocks of a row's size or more that are held now, and at most so far. They
// are told apart from others by their size, which stands before each block.
std::atomic<int> rows_held{0};
std::atomic<int> most_rows_held{0};
constexpr std::size_t kHead = alignof(std::max_align_t);

}  // namespace
}  // namespace banyan

void* operator new(std::size_t bytes) {
  using namespace banyan;  // NOLINT: the operator belongs to no namespace
  auto* const block = static_cast<std::size_t*>(std::malloc(kHead + bytes));
  if (block == nullptr) std::abort();
  *block = bytes;
  if (bytes >= kRowBytes) {
    const int now = ++rows_held;
    most_rows_held = std::max(most_rows_held.load(), now);
  }
  return reinterpret_cast<std::byte*>(block) + kHead;
}

void operator delete(void* pointer) noexcept {
  using namespace banyan;  // NOLINT: as above
  if (pointer == nullptr) return;
  auto* const block = static_cast<std::byte*>(pointer) - kHead;
  if (*reinterpret_cast<std::size_t*>(block) >= kRowBytes) --rows_held;
  std::free(block);
}

void operator delete(void* pointer, std::size_t /*bytes*/) noexcept {
  operator delete(pointer);
}

namespace banyan {
namespace {

struct Held {
  int rows = 0;  // at most, while the round ran
  int nodes_with_draws = 0;
  std::size_t path = 0;
  std::size_t facts = 0;
};

// What one round of the same tree and verdict holds.
Held OneRound(bool keep_facts) {
  const auto target = Toy({.vocab_size = kVocabulary, .seed = 1});
  std::vector<Trunk> trunks;
  trunks.push_back(TrunkOf(std::make_unique<TableDrafter>(
                               Toy({.vocab_size = kVocabulary, .seed = 2})),
                           "expansion {branching: [3, 2, 2]}",
                           DraftLaw::kDeterministic));
  auto decoder = WithTrunks(*target, "multi_round", std::move(trunks));
  EXPECT_TRUE(decoder.ok()) << decoder.status();
  if (keep_facts) decoder->KeepFacts();
  auto sequence =
      decoder->Begin({.tokens = {target->begin(), 2}}, {.max_new_tokens = 9});
  EXPECT_TRUE(sequence.ok()) << sequence.status();
  SeededSource random(7);
  const int before = rows_held;
  most_rows_held = before;
  const auto round = decoder->Step(*sequence, random);
  EXPECT_TRUE(round.ok()) << round.status();
  Held held = {.rows = most_rows_held - before,
               .path = round->verdict.path.size(),
               .facts = round->facts.overlap.size()};
  for (const Node& node : round->tree.nodes())
    if (!node.lists.empty()) ++held.nodes_with_draws;
  return held;
}

TEST(TargetFacts, HoldOneRowMoreThanTheMethodWhateverTheTree) {
  const Held method = OneRound(false);
  const Held recorded = OneRound(true);
  ASSERT_EQ(recorded.path, method.path);
  ASSERT_EQ(method.facts, 0U);
  ASSERT_GT(recorded.facts, 0U);
  // Verification leaves most rows alone, so keeping them all would show.
  ASSERT_EQ(method.nodes_with_draws, 10);
  ASSERT_LE(method.path, 2U);
  EXPECT_LE(recorded.rows, method.rows + 1);
  // What counts rows does count: a proposal at each of these nodes.
  EXPECT_GE(method.rows, method.nodes_with_draws);
}

}  // namespace
}  // namespace banyan
