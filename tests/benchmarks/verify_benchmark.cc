// Times the verification of 64 drafted nodes over 32,000 tokens, by every
// verifier of the catalogue: a tree <4, 3, 4>, or a chain of 64 for verifiers
// of chains, drawn with the draw kind that the verifier prefers. The target's
// rows are made beforehand.
//
// Counters, per round: `coins` is the number of draws that needed a coin,
// `accepted` the length of the path.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/common.h"
#include "core/base/number_rows.h"
#include "core/base/params.h"
#include "core/model/context.h"
#include "core/prob/distribution.h"
#include "core/random/random_source.h"
#include "tests/benchmarks/benchmarks.h"
#include "tests/benchmarks/drafted.h"
#include "tests/benchmarks/made_up_laws.h"
#include "tree/derive.h"
#include "tree/draft_tree.h"
#include "tree/merge.h"
#include "tree/optimize/shape.h"
#include "tree/policies/fixed_shape.h"
#include "tree/trunk_tree.h"
#include "tree/verdict.h"
#include "verifiers/catalogue.h"
#include "verifiers/verifier.h"

namespace banyan {
namespace {

constexpr int kNodes = 64;

class MadeUpRows : public RowSource {
 public:
  MadeUpRows(const MadeUpLaws& laws, const DraftTree& tree) {
    for (int node = 0; node < tree.size(); ++node)
      rows_.push_back(laws.target(MadeUpLaws::Pick(TokensTo(tree, node))));
  }

  const Distribution& Row(int node) override {
    return rows_[static_cast<std::size_t>(node)];
  }

 private:
  std::vector<Distribution> rows_;
};

class CountingSource : public RandomSource {
 public:
  bool Accept(double probability, const ChoiceKey& key) override {
    ++coins_;
    return random_.Accept(probability, key);
  }
  int Draw(const Weights& weights, const ChoiceKey& key) override {
    return random_.Draw(weights, key);
  }
  int coins() const { return coins_; }

 private:
  SeededSource random_{2};
  int coins_ = 0;
};

std::unique_ptr<Verifier> Build(absl::string_view name) {
  const Params section = Params::Map(
      {{.key = "name", .value = Params::Scalar(std::string(name))}});
  absl::StatusOr<std::unique_ptr<Verifier>> verifier = BuildVerifier(section);
  Check(verifier.ok(), "a verifier of the catalogue");
  return *std::move(verifier);
}

DraftTree TreeFor(const VerifierTraits& traits, const MadeUpLaws& laws,
                  bool dense) {
  const Shape shape = traits.chain ? Shape::Chain(kNodes) : ThreeLevels(kNodes);
  const TrunkTree grown = DraftedTree(laws, dense, FixedShape(shape),
                                      traits.draw_kinds.front(), /*round=*/0);
  return Merge({&grown, 1});
}

void Verify(benchmark::State& state, absl::string_view name,
            const MadeUpLaws& laws, bool dense) {
  const std::unique_ptr<Verifier> verifier = Build(name);
  const DraftTree tree = TreeFor(verifier->traits(), laws, dense);
  MadeUpRows rows(laws, tree);
  CountingSource random;
  Context context = RoundContext(0);
  std::size_t accepted = 0;
  for (auto _ : state) {
    ++context.round;  // another round, other coins
    const Verdict verdict = verifier->Verify(
        tree, rows, Chance(random, context.prompt, context.round));
    accepted += verdict.path.size();
  }
  const auto per_round = benchmark::Counter::kAvgIterations;
  state.counters["coins"] = {static_cast<double>(random.coins()), per_round};
  state.counters["accepted"] = {static_cast<double>(accepted), per_round};
}

}  // namespace

void RegisterVerify(const MadeUpLaws& laws) {
  for (const VerifierRow& row : VerifierCatalogue()) {
    for (bool dense : {true, false}) {
      const std::string name =
          absl::StrCat("Verify/", row.name, dense ? "/dense" : "/sparse");
      benchmark::RegisterBenchmark(name.c_str(), [&laws, &row,
                                                  dense](auto& state) {
        Verify(state, row.name, laws, dense);
      })->Unit(benchmark::kMicrosecond);
    }
  }
}

}  // namespace banyan
