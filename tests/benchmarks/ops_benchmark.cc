// One product of activations with a weight, and one pass of a whole model.
//
// The model is a tiny one unless the environment says which:
//
//   scripts/random_model --shape 110m --out /tmp/110m
//   BANYAN_BENCHMARK_MODEL=/tmp/110m ./banyan_benchmarks
//     --benchmark_filter=Pass --benchmark_repetitions=5
//
// `banyan measure` holds the same passes against what the machine can do.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/common.h"
#include "core/checkpoint/checkpoint.h"
#include "core/model/model.h"
#include "core/ops/backend.h"
#include "core/ops/devices.h"
#include "core/ops/weight.h"
#include "core/transformer/transformer.h"
#include "tests/benchmarks/benchmarks.h"

namespace banyan {
namespace {

struct Format {
  const char* name;
  WeightFormat format;
};
constexpr Format kFormats[] = {{"f32", WeightFormat::kF32},
                               {"bf16", WeightFormat::kBf16},
                               {"q8", WeightFormat::kQ8}};

void TimeLinear(benchmark::State& state, WeightFormat format) {
  constexpr int kSize = 768;
  const int rows = static_cast<int>(state.range(0));
  const std::shared_ptr<Backend> backend = *OpenDevice(kDefaultDevice);
  const std::unique_ptr<Weight> weight = *backend->Pack(
      format, kSize, kSize, [](int first, int count, float* out) {
        for (int i = 0; i < count * kSize; ++i)
          out[i] = static_cast<float>((first * 7 + i) % 13 - 6) / 64;
        return absl::OkStatus();
      });
  const auto numbers =
      static_cast<std::size_t>(rows) * static_cast<std::size_t>(kSize);
  const auto x = *backend->Allocate(numbers * sizeof(float));
  const auto y = *backend->Allocate(numbers * sizeof(float));
  const Tensor in = {x.get(), 0, rows, kSize, kSize};
  const Tensor out = {y.get(), 0, rows, kSize, kSize};
  for (auto _ : state)
    if (!backend->Linear({.x = in, .weight = weight.get(), .y = out}).ok() ||
        !backend->Finish().ok())
      state.SkipWithError("a product failed");
  state.SetBytesProcessed(state.iterations() *
                          static_cast<std::int64_t>(weight->bytes()));
}

void TimePass(benchmark::State& state, const std::string& directory,
              WeightFormat format) {
  const auto checkpoint = Checkpoint::Open(directory);
  std::shared_ptr<Backend> backend = *OpenDevice(kDefaultDevice);
  if (!checkpoint.ok())
    return state.SkipWithError(checkpoint.status().ToString().c_str());
  const auto model =
      Transformer::Load(**checkpoint, {.format = format}, std::move(backend));
  if (!model.ok())
    return state.SkipWithError(model.status().ToString().c_str());
  const std::unique_ptr<Session> session = (*model)->NewSession();
  TokenBatch batch;
  for (int i = 0; i < state.range(0); ++i) {
    batch.tokens.push_back(i % (*model)->vocab_size());
    batch.positions.push_back(i);
    batch.parents.push_back(i - 1);
  }
  for (auto _ : state)
    if (!ScoreOne(**model, *session, batch).ok() || !session->Commit({}).ok() ||
        !(*model)->Finish().ok())
      state.SkipWithError("a pass failed");
}

}  // namespace

void RegisterOps() {
  const char* const chosen = std::getenv("BANYAN_BENCHMARK_MODEL");
  const std::string directory =
      chosen != nullptr ? chosen : BANYAN_BENCHMARK_TINY_MODEL;
  for (const Format& format : kFormats) {
    auto* linear = benchmark::RegisterBenchmark(
        absl::StrCat("Ops/Linear/", format.name, "/768x768").c_str(),
        [format](benchmark::State& state) {
          TimeLinear(state, format.format);
        });
    auto* pass = benchmark::RegisterBenchmark(
        absl::StrCat("Ops/Pass/", format.name).c_str(),
        [format, directory](benchmark::State& state) {
          TimePass(state, directory, format.format);
        });
    for (auto* both : {linear, pass})
      both->Unit(benchmark::kMicrosecond)
          ->UseRealTime()
          ->ArgsProduct({{1, 2, 4, 8, 16, 32}});
  }
}

}  // namespace banyan
