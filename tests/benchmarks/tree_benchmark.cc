// Growing a tree, putting it in depth-first order, and deriving what is scored.
// The sizes count drafted nodes; independent draws that agree share one, so
// `nodes` counts what was made.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/benchmarks/benchmarks.h"
#include "tests/benchmarks/drafted.h"
#include "tests/benchmarks/made_up_laws.h"
#include "tree/derive.h"
#include "tree/draft_tree.h"
#include "tree/merge.h"
#include "tree/policies/best_first.h"
#include "tree/policies/fixed_shape.h"
#include "tree/tree_policy.h"
#include "tree/trunk_tree.h"

namespace banyan {
namespace {

constexpr int kSizes[] = {64, 256, 1024};

// A policy for `nodes` nodes, and the draw kind it grows by.
struct Growth {
  const char* name;
  std::unique_ptr<TreePolicy> (*policy)(int nodes);
  DrawKind draw_kind;
};

std::unique_ptr<TreePolicy> Expansion(int nodes) {
  return std::make_unique<FixedShape>(ThreeLevels(nodes));
}

std::unique_ptr<TreePolicy> MakeBestFirst(int nodes) {
  return std::make_unique<BestFirst>(BestFirstOptions{.most_draws = nodes});
}

constexpr Growth kGrowths[] = {
    {"expansion/independent", Expansion, DrawKind::kIndependent},
    {"expansion/without_replacement", Expansion, DrawKind::kWithoutReplacement},
    {"expansion/deterministic", Expansion, DrawKind::kDeterministic},
    {"best_first/without_replacement", MakeBestFirst,
     DrawKind::kWithoutReplacement},
    {"best_first/deterministic", MakeBestFirst, DrawKind::kDeterministic},
};

void TimeGrow(benchmark::State& state, const Growth& growth, int nodes,
              const MadeUpLaws& laws, bool dense) {
  const std::unique_ptr<TreePolicy> policy = growth.policy(nodes);
  std::uint32_t round = 0;
  int made = 0;
  for (auto _ : state)
    made +=
        DraftedTree(laws, dense, *policy, growth.draw_kind, ++round).size() - 1;
  state.counters["nodes"] = {static_cast<double>(made),
                             benchmark::Counter::kAvgIterations};
}

TrunkTree TreeOf(const MadeUpLaws& laws, int nodes) {
  return DraftedTree(laws, /*dense=*/false, *Expansion(nodes),
                     DrawKind::kWithoutReplacement, /*round=*/0);
}

void TimeMerge(benchmark::State& state, const MadeUpLaws& laws, int nodes) {
  const TrunkTree grown = TreeOf(laws, nodes);
  for (auto _ : state) benchmark::DoNotOptimize(Merge({&grown, 1}));
}

void TimeToBatch(benchmark::State& state, const MadeUpLaws& laws, int nodes) {
  const TrunkTree grown = TreeOf(laws, nodes);
  const DraftTree tree = Merge({&grown, 1});
  for (auto _ : state) benchmark::DoNotOptimize(ToBatch(tree, 100));
}

void TimeToMask(benchmark::State& state, const MadeUpLaws& laws, int nodes) {
  const TrunkTree grown = TreeOf(laws, nodes);
  const TokenBatch batch = ToBatch(Merge({&grown, 1}), 100);
  for (auto _ : state) benchmark::DoNotOptimize(ToMask(batch.parents));
}

void RegisterGrow(const MadeUpLaws& laws) {
  for (const Growth& growth : kGrowths) {
    for (bool dense : {true, false}) {
      for (int nodes : kSizes) {
        const std::string name = absl::StrCat(
            "Grow/", growth.name, dense ? "/dense/" : "/sparse/", nodes);
        benchmark::RegisterBenchmark(
            name.c_str(),
            [&laws, &growth, dense, nodes](benchmark::State& state) {
              TimeGrow(state, growth, nodes, laws, dense);
            })
            ->Unit(benchmark::kMicrosecond);
      }
    }
  }
}

// A benchmark of one tree, without replacement, at every size.
void RegisterFinished(const std::string& name, const MadeUpLaws& laws,
                      void (*time)(benchmark::State&, const MadeUpLaws&, int)) {
  for (int nodes : kSizes) {
    benchmark::RegisterBenchmark(absl::StrCat(name, "/", nodes).c_str(),
                                 [&laws, nodes, time](benchmark::State& state) {
                                   time(state, laws, nodes);
                                 })
        ->Unit(benchmark::kMicrosecond);
  }
}

}  // namespace

void RegisterTree(const MadeUpLaws& laws) {
  RegisterGrow(laws);
  RegisterFinished("Tree/Merge", laws, TimeMerge);
  RegisterFinished("Tree/ToBatch", laws, TimeToBatch);
  RegisterFinished("Tree/ToMask", laws, TimeToMask);
}

}  // namespace banyan
