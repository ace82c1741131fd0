// Growing a tree, putting it in depth-first order, and deriving what is scored.
// The sizes count drafted nodes; independent draws that agree share one, so
// `nodes` counts what was made.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "configs/loader/yaml.h"
#include "core/base/check.h"
#include "core/base/token.h"
#include "core/prob/distribution.h"
#include "tests/benchmarks/benchmarks.h"
#include "tests/benchmarks/drafted.h"
#include "tests/benchmarks/made_up_laws.h"
#include "tree/derive.h"
#include "tree/draft_tree.h"
#include "tree/growing_tree.h"
#include "tree/merge.h"
#include "tree/method_policy.h"
#include "tree/policies/best_first.h"
#include "tree/policies/catalogue.h"
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

// What cost_aware takes to decide a round of four drafters, whose tokens never
// agree: all of Next().
void TimeDecide(benchmark::State& state, int nodes) {
  const auto section = ParseYaml(
      absl::StrCat(
          "{name: cost_aware, nodes: ", nodes, ", target_ms: {1: 10, ",
          nodes + 1,
          ": 10.01}, draft_ms: [0.001, 0.001, 0.001, 0.001], alone: "
          "[[[0.5, 0.3, 0.2], [0.4]], [[0.4, 0.2], [0.4]], [[0.3, 0.2], "
          "[0.3]], [[0.3], [0.2]]], together: [0.2, 0.1, 0.05, 0.05, 0.1, "
          "0.05, 0.05, 0.05, 0.05, 0.05, 0.05, 0.05, 0.05, 0.02, 0.02, 0.06]}"),
      "policy");
  const auto choice = BuildPolicy(*section);
  Check(choice.ok(), choice.status().message());
  const MethodPolicy& policy = *choice->policy->of_method();
  constexpr int kVocab = 64;
  std::int64_t decided = 0;
  for (auto _ : state) {
    state.PauseTiming();
    std::vector<GrowingTree::Drafter> drafters(
        4, {.draw_kind = DrawKind::kDeterministic});
    GrowingTree tree(0, drafters, {});
    state.ResumeTiming();
    while (true) {
      const std::vector<MethodExpansion> next = policy.Next(tree);
      if (next.empty()) break;
      state.PauseTiming();
      for (const MethodExpansion& one : next) {
        const int own = tree.Adopt(one.node, one.drafter);
        if (tree.tree(one.drafter).proposal(own) == nullptr) {
          std::vector<double> masses(kVocab, 0.001);
          for (int i = 0; i < 4; ++i)
            masses[static_cast<std::size_t>(one.drafter * 8 + i)] =
                0.5 / (i + 1);
          tree.SetProposal(one.drafter, own,
                           {.q = Distribution::Dense(std::move(masses)),
                            .favourite = one.drafter * 8});
        } else if (tree.size() <= nodes) {
          const Distribution left = tree.LeftNew(one.node, one.drafter);
          const TokenId token = left.Argmax();
          tree.AddDraw(one.drafter, own, token,
                       Distribution::OneHot(kVocab, token), false);
        }
      }
      state.ResumeTiming();
    }
    decided += tree.size() - 1;
  }
  state.counters["nodes"] = {static_cast<double>(decided),
                             benchmark::Counter::kAvgIterations};
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
  for (int nodes : {8, 64})
    benchmark::RegisterBenchmark(
        absl::StrCat("Decide/cost_aware/", nodes).c_str(),
        [nodes](benchmark::State& state) { TimeDecide(state, nodes); })
        ->Unit(benchmark::kMicrosecond);
  RegisterFinished("Tree/Merge", laws, TimeMerge);
  RegisterFinished("Tree/ToBatch", laws, TimeToBatch);
  RegisterFinished("Tree/ToMask", laws, TimeToMask);
}

}  // namespace banyan
