// What is done to one row of 32,000 tokens: making it from logits, drawing from
// it, and refusing draws.
#include <benchmark/benchmark.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "core/prob/distribution.h"
#include "core/prob/residual.h"
#include "core/prob/sampling_rule.h"
#include "core/random/random_source.h"
#include "tests/benchmarks/benchmarks.h"
#include "tests/benchmarks/made_up_laws.h"

namespace banyan {
namespace {

void TimeApply(benchmark::State& state, const MadeUpLaws& laws,
               const SamplingOptions& options) {
  const SamplingRule rule(options);
  for (auto _ : state)
    benchmark::DoNotOptimize(rule.Apply(laws.logits(), {}, {}));
}

void RegisterApply(const std::string& name, const MadeUpLaws& laws,
                   const SamplingOptions& options) {
  benchmark::RegisterBenchmark(absl::StrCat("Row/Apply/", name).c_str(),
                               [&laws, options](benchmark::State& state) {
                                 TimeApply(state, laws, options);
                               })
      ->Unit(benchmark::kMicrosecond);
}

void TimeDraw(benchmark::State& state, const MadeUpLaws& laws) {
  SeededSource random(3);
  ChoiceKey key;
  for (auto _ : state) {
    ++key.round;
    const Distribution& law =
        laws.target(static_cast<int>(key.round % MadeUpLaws::kCount));
    benchmark::DoNotOptimize(random.Draw(law.weights(), key));
  }
}

// Times `draws` rejected draws at one node, each from another proposal.
void TimeRefuse(benchmark::State& state, const MadeUpLaws& laws, bool dense,
                int draws) {
  int node = 0;
  for (auto _ : state) {
    Residual residual(laws.target(node++ % MadeUpLaws::kCount));
    for (int draw = 0; draw < draws; ++draw) {
      const int index = (node + draw) % MadeUpLaws::kCount;
      residual.Subtract(dense ? laws.dense(index) : laws.sparse(index));
    }
    benchmark::DoNotOptimize(residual.weights().values.data());
  }
}

}  // namespace

void RegisterRow(const MadeUpLaws& laws) {
  RegisterApply("plain", laws, {});
  RegisterApply("top_k_50", laws, {.top_k = 50});
  RegisterApply("top_p_0.9", laws, {.top_p = 0.9});
  RegisterApply("temperature_0", laws, {.temperature = 0});
  benchmark::RegisterBenchmark("Row/Draw", [&laws](benchmark::State& state) {
    TimeDraw(state, laws);
  })->Unit(benchmark::kMicrosecond);
  for (bool dense : {true, false}) {
    for (int draws : {1, 8}) {
      const std::string name =
          absl::StrCat("Row/Refuse", dense ? "/dense/" : "/sparse/", draws);
      benchmark::RegisterBenchmark(name.c_str(), [&laws, dense, draws](
                                                     benchmark::State& state) {
        TimeRefuse(state, laws, dense, draws);
      })->Unit(benchmark::kMicrosecond);
    }
  }
}

}  // namespace banyan
