// A round's lists as its steps see them: through numbers that read and write,
// of whatever memory.
#ifndef BANYAN_CORE_ROUND_BOOK_H_
#define BANYAN_CORE_ROUND_BOOK_H_

#include <cstdint>

#include "core/base/draw_math.h"
#include "core/base/keyed_uniform.h"
#include "core/round/layout.h"

// Of functions that a device's threads call, and no host beside them.
#ifdef __CUDACC__
#define BANYAN_STEP __device__
#else
#define BANYAN_STEP inline
#endif

namespace banyan {

// Chance as a function of a seed and of what a choice is for.
struct KeyedChance {
  std::uint64_t seed;

  BANYAN_STEP double Uniform(std::uint32_t prompt, std::uint32_t round,
                             Purpose purpose, int node, int draw,
                             int drafter) const {
    return UniformOf(seed,
                     WordsOf(prompt, round, static_cast<std::uint32_t>(node),
                             static_cast<std::uint32_t>(draw),
                             static_cast<std::uint16_t>(drafter),
                             static_cast<std::uint8_t>(purpose)));
  }
  // By all workers together; probabilities lie between 0 and 1.
  template <typename Book>
  BANYAN_STEP bool Accept(const Book& round, double probability, int row,
                          int draw) const {
    return AcceptWith(
        Uniform(round.Prompt(), round.Round(), Purpose::kCoin, row, draw, 0),
        probability);
  }
  // A token with probability proportional to value(token); `total`: their sum,
  // as workers.Sum(value) last computed it.
  template <typename Book, typename Workers, typename Value>
  BANYAN_STEP int Draw(const Book& round, const Workers& workers,
                       const Value& value, double total, Purpose purpose,
                       int node, int draw, int drafter) const {
    return workers.Place(
        Uniform(round.Prompt(), round.Round(), purpose, node, draw, drafter) *
            total,
        value);
  }
};

template <typename Integers, typename Doubles, typename Chance>
struct RoundBook {
  // Entry i of a list.
  BANYAN_STEP int Get(book::Integers list, int i = 0) const {
    return integers.Read(std::int64_t{of.integer_at[list]} + i);
  }
  BANYAN_STEP void Set(book::Integers list, int i, int value) const {
    integers.Write(std::int64_t{of.integer_at[list]} + i, value);
  }
  BANYAN_STEP void Set(book::Integers list, int value) const {
    Set(list, 0, value);
  }
  // Adds one, whoever else does.
  BANYAN_STEP void Count(book::Integers list, int i) const {
    (void)integers.AtomicAdd(std::int64_t{of.integer_at[list]} + i, 1);
  }
  BANYAN_STEP double Number(book::Doubles list, int i) const {
    return doubles.Read(std::int64_t{of.double_at[list]} + i);
  }
  BANYAN_STEP void SetNumber(book::Doubles list, int i, double value) const {
    doubles.Write(std::int64_t{of.double_at[list]} + i, value);
  }
  // Bit `bit` of the words from `first` on.
  BANYAN_STEP void SetBit(book::Integers list, int first, int bit) const {
    const int word = first + bit / 32;
    Set(list, word,
        static_cast<std::int32_t>(static_cast<std::uint32_t>(Get(list, word)) |
                                  (std::uint32_t{1} << (bit % 32))));
  }
  BANYAN_STEP std::uint32_t Prompt() const {
    return static_cast<std::uint32_t>(Get(book::kPrompt));
  }
  BANYAN_STEP std::uint32_t Round() const {
    return static_cast<std::uint32_t>(Get(book::kRound));
  }
  // Of the merged tree; -1 of the root.
  BANYAN_STEP int MergedParent(int node) const {
    const int parent = Get(book::kParent, node);
    return parent < 0 ? -1 : Get(book::kSame, parent);
  }

  RoundLayout of;
  Integers integers;
  Doubles doubles;
  Chance chance;
};

}  // namespace banyan

#endif  // BANYAN_CORE_ROUND_BOOK_H_
