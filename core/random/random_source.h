// RandomSource: the only origin of chance.
//
// An algorithm never asks for a number; it asks for a choice: accept with a
// stated probability, or draw an index from a finite list of weights. So chance
// is data: a seeded source samples the choice, a scripted one reads it from a
// tape, an enumerating one tries every outcome and knows its probability.
//
// A seeded source and a scripted one are declared here too.
#ifndef BANYAN_CORE_RANDOM_RANDOM_SOURCE_H_
#define BANYAN_CORE_RANDOM_RANDOM_SOURCE_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/draw_math.h"
#include "core/base/number_rows.h"

namespace banyan {

// Names one choice of a run. No two choices of a run share a key: that is what
// makes seeded results independent of batching and thread order, and what keeps
// one round's randomness out of the next. The enumerating source checks it.
struct ChoiceKey {
  std::uint32_t prompt = 0;
  std::uint32_t round = 0;
  std::uint32_t node = 0;
  std::uint32_t draw = 0;
  std::uint16_t trunk = 0;
  Purpose purpose = Purpose::kDraft;

  friend auto operator<=>(const ChoiceKey&, const ChoiceKey&) = default;
};

class RandomSource {
 public:
  RandomSource() = default;
  RandomSource(const RandomSource&) = delete;
  RandomSource& operator=(const RandomSource&) = delete;
  virtual ~RandomSource() = default;

  // True with probability `probability`, which lies strictly between 0 and 1.
  virtual bool Accept(double probability, const ChoiceKey& key) = 0;
  // An index with probability proportional to its weight; never one of weight
  // 0. Requires at least one positive weight.
  virtual int Draw(const Weights& weights, const ChoiceKey& key) = 0;

  // Of a source whose choices are pure functions of a seed and their keys: the
  // seed, for whoever makes the same choices elsewhere.
  virtual std::optional<std::uint64_t> seed() const { return std::nullopt; }
};

// What a step of a round gets: the source, and the part of the key that the
// step may not choose. A small value; the source must outlive it.
class Chance {
 public:
  Chance(RandomSource& source, std::uint32_t prompt, std::uint32_t round)
      : source_(source), key_{.prompt = prompt, .round = round} {}

  Chance ForTrunk(int trunk) const;

  // Accepts a draw. Probabilities of at least 1 and at most 0 need no chance;
  // NaN ends the program.
  bool Accept(double probability, int node, int draw = 0) const;
  int Draw(const Weights& weights, Purpose purpose, int node,
           int draw = 0) const;

 private:
  ChoiceKey Key(Purpose purpose, int node, int draw) const;

  RandomSource& source_;
  ChoiceKey key_;
};

// How a uniform number u in [0, 1) decides a draw; a coin is AcceptWith
// (core/base/draw_math.h). Shared by the sources that have one, so that a tape
// and a seed mean the same thing.

// The index at which the running sum of weights first exceeds u times their
// total. Never an index of weight 0. Requires a positive total.
int DrawWith(double u, const Weights& weights);

// A counter-based source: the choice for a key is a pure function of the seed
// and the key, so the order in which choices are made changes nothing.

// Safe to share between threads.
class SeededSource : public RandomSource {
 public:
  explicit SeededSource(std::uint64_t seed) : seed_(seed) {}

  bool Accept(double probability, const ChoiceKey& key) override;
  int Draw(const Weights& weights, const ChoiceKey& key) override;
  std::optional<std::uint64_t> seed() const override { return seed_; }

  // Returns the key's number in [0, 1): UniformOf (core/base/keyed_uniform.h).
  double Uniform(const ChoiceKey& key) const;

 private:
  std::uint64_t seed_;
};

// ScriptedSource: reads its uniform numbers from a tape, in the order of the
// choices. Tests use it for goldens, for device counterparts, and for the edges
// 0 and just below 1.
class ScriptedSource : public RandomSource {
 public:
  // Every number lies in [0, 1). Reading past the end ends the program.
  explicit ScriptedSource(std::vector<double> tape) : tape_(std::move(tape)) {}

  bool Accept(double probability, const ChoiceKey& key) override;
  int Draw(const Weights& weights, const ChoiceKey& key) override;

  // How many numbers were read.
  std::size_t used() const { return next_; }

 private:
  double Next();

  std::vector<double> tape_;
  std::size_t next_ = 0;
};

}  // namespace banyan

#endif  // BANYAN_CORE_RANDOM_RANDOM_SOURCE_H_
