#include "core/random/random_source.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/check.h"
#include "core/base/keyed_uniform.h"

namespace banyan {

Chance Chance::ForTrunk(int trunk) const {
  Check(trunk >= 0 && trunk <= std::numeric_limits<std::uint16_t>::max(),
        "a trunk's number does not fit the key");
  Chance result = *this;
  result.key_.trunk = static_cast<std::uint16_t>(trunk);
  return result;
}

bool Chance::Accept(double probability, int node, int draw) const {
  Check(!std::isnan(probability), "acceptance probability is NaN");
  if (probability >= 1) return true;
  if (probability <= 0) return false;
  return source_.Accept(probability, Key(Purpose::kCoin, node, draw));
}

int Chance::Draw(const Weights& weights, Purpose purpose, int node,
                 int draw) const {
  return source_.Draw(weights, Key(purpose, node, draw));
}

ChoiceKey Chance::Key(Purpose purpose, int node, int draw) const {
  ChoiceKey key = key_;
  key.node = static_cast<std::uint32_t>(node);
  key.draw = static_cast<std::uint32_t>(draw);
  key.purpose = purpose;
  return key;
}

namespace {

// The weights that stand in one run of the row (draw_math.h).
struct Run {
  int begin;
  int end;
  double sum;
};

class Row {
 public:
  explicit Row(const Weights& weights)
      : weights_(weights),
        gaps_(weights.left_out.begin(), weights.left_out.end()) {
    std::sort(gaps_.begin(), gaps_.end());
    Check(gaps_.empty() || (gaps_.front() >= 0 && gaps_.back() < size()),
          "what is left out is no index");
  }

  // 0 where it is left out.
  double Weight(int i) const {
    return std::binary_search(gaps_.begin(), gaps_.end(), i)
               ? 0.0
               : weights_.values[static_cast<std::size_t>(i)];
  }

  std::vector<Run> Runs() const {
    std::vector<Run> runs;
    runs.reserve(static_cast<std::size_t>(size() / kSumRun + 1));
    for (int begin = 0; begin < size(); begin = runs.back().end) {
      const int run = PlaceOf(begin) / kSumRun;
      int end = begin;
      if (weights_.places.empty())
        end = std::min((run + 1) * kSumRun, size());
      else
        while (end < size() && PlaceOf(end) / kSumRun == run) ++end;
      runs.push_back({begin, end, Sum(begin, end)});
    }
    return runs;
  }

 private:
  int size() const { return static_cast<int>(weights_.values.size()); }
  int PlaceOf(int i) const {
    return weights_.places.empty()
               ? i
               : weights_.places[static_cast<std::size_t>(i)];
  }
  // Of one run.
  double Sum(int begin, int end) const {
    const auto gap = std::lower_bound(gaps_.begin(), gaps_.end(), begin);
    if (weights_.places.empty() && (gap == gaps_.end() || *gap >= end))
      return CheckedSum(
          weights_.values.subspan(static_cast<std::size_t>(begin),
                                  static_cast<std::size_t>(end - begin)));
    SparseSum sum;
    for (int i = begin; i < end; ++i) {
      const double weight = Weight(i);
      Check(weight >= 0, "a mass or weight is negative or NaN");
      sum.Add(static_cast<std::size_t>(PlaceOf(i) % kSumRun), weight);
    }
    return sum.Total();
  }

  const Weights& weights_;
  std::vector<int> gaps_;
};

}  // namespace

int DrawWith(double u, const Weights& weights) {
  // Not the sum of all less what is left out: that could lose every digit.
  const Row row(weights);
  const std::vector<Run> runs = row.Runs();
  double total = 0;
  for (const Run& run : runs) total += run.sum;
  Check(std::isfinite(total), "weights are not finite");
  Check(total > 0, "draw from a list without weight");
  double before = 0;
  const int found = FirstAbove(
      u * total, 0, static_cast<int>(runs.size()),
      [&](int i) { return runs[static_cast<std::size_t>(i)].sum; }, before);
  const Run& run = runs[static_cast<std::size_t>(found)];
  return FirstAbove(
      u * total, run.begin, run.end, [&](int i) { return row.Weight(i); },
      before);
}

bool SeededSource::Accept(double probability, const ChoiceKey& key) {
  return AcceptWith(Uniform(key), probability);
}

int SeededSource::Draw(const Weights& weights, const ChoiceKey& key) {
  return DrawWith(Uniform(key), weights);
}

double SeededSource::Uniform(const ChoiceKey& key) const {
  return UniformOf(seed_,
                   WordsOf(key.prompt, key.round, key.node, key.draw, key.trunk,
                           static_cast<std::uint8_t>(key.purpose)));
}

bool ScriptedSource::Accept(double probability, const ChoiceKey& /*key*/) {
  return AcceptWith(Next(), probability);
}

int ScriptedSource::Draw(const Weights& weights, const ChoiceKey& /*key*/) {
  return DrawWith(Next(), weights);
}

double ScriptedSource::Next() {
  Check(next_ < tape_.size(), "the tape of the scripted source is used up");
  const double u = tape_[next_++];
  Check(u >= 0 && u < 1, "a number of the tape lies outside [0, 1)");
  return u;
}

}  // namespace banyan
