// What drafting with the target itself costs, each beside what it should cost,
// in turns: the counter `times` is the median of the quotients.
//
//   EarlyExit   a token through the first layers and the head, to a model made
//               of these layers alone
//   GoOn        a pass of eight whose first layers a view has run, to the pass
//               of a model made of the other layers
//   Probe       a pass half of whose rows start from vectors, to one of tokens
//
// The model is made up, too large for a processor's cache.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <numeric>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "core/base/check.h"
#include "core/base/token.h"
#include "core/model/model.h"
#include "core/ops/backend.h"
#include "core/transformer/transformer.h"
#include "tests/core/transformer/made_model.h"
#include "tests/core/transformer/walk.h"

namespace banyan {
namespace {

constexpr int kLayers = 12;
constexpr int kExit = 3;
constexpr int kText = 200;

std::vector<int> Range(int first, int end) {
  std::vector<int> all(static_cast<std::size_t>(end - first));
  std::iota(all.begin(), all.end(), first);
  return all;
}

// Loaded once a program.
const Transformer& Made(int first, int end) {
  static const std::shared_ptr<Backend> backend = BackendOf("cpu");
  struct Loaded {
    int first, end;
    std::unique_ptr<Transformer> model;
  };
  static std::vector<Loaded> all;
  for (const Loaded& loaded : all)
    if (loaded.first == first && loaded.end == end) return *loaded.model;
  const MadeModel made({.layers = Range(first, end),
                        .heads = 32,
                        .kv_heads = 16,
                        .feed_forward = 1408,
                        .vocab = 4096});
  all.push_back({first, end, made.Load(backend)});
  return *all.back().model;
}

std::unique_ptr<Session> WithText(const Model& model) {
  std::unique_ptr<Session> session = model.NewSession();
  std::vector<TokenId> text(kText);
  std::iota(text.begin(), text.end(), 1);
  Check(session->Prefill(text).ok(), "there is room");
  return session;
}

TokenBatch Chain(int count) {
  TokenBatch batch;
  for (int i = 0; i < count; ++i) batch.Add(7 + i, kText + i, i - 1);
  return batch;
}

// Scores, reads one row, and drops all of it again; in seconds.
double Time(const Model& model, const ScoreRequest& request) {
  Check(request.session->Commit({}).ok(), "nothing refuses this");
  const auto start = std::chrono::steady_clock::now();
  auto scores = model.Score({&request, 1});
  Check(scores.ok() && model.Finish().ok(), "the request is in range");
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

void InTurns(benchmark::State& state, absl::FunctionRef<double()> one,
             absl::FunctionRef<double()> other) {
  std::vector<double> quotients;
  for (auto _ : state) {
    const bool first = quotients.size() % 2 == 0;
    const double before = first ? one() : other();
    const double after = first ? other() : one();
    const double time = first ? before : after;
    quotients.push_back(time / (first ? after : before));
    state.SetIterationTime(time);
  }
  const auto middle =
      quotients.begin() + static_cast<std::ptrdiff_t>(quotients.size() / 2);
  std::nth_element(quotients.begin(), middle, quotients.end());
  state.counters["times"] = *middle;
}

ViewOptions FirstLayers() {
  ViewOptions options = ViewOptions::Layers(Range(0, kExit));
  options.keeps_rows = true;
  return options;
}

std::unique_ptr<Session> MustView(Session& session) {
  auto view = session.View(FirstLayers());
  Check(view.ok(), "these layers are there");
  return *std::move(view);
}

void EarlyExit(benchmark::State& state) {
  const Model& whole = Made(0, kLayers);
  const Model& part = Made(0, kExit);
  const std::unique_ptr<Session> session = WithText(whole);
  const std::unique_ptr<Session> view = MustView(*session);
  const std::unique_ptr<Session> alone = WithText(part);
  const TokenBatch batch = Chain(1);
  InTurns(
      state,
      [&] { return Time(whole, {.session = view.get(), .batch = &batch}); },
      [&] { return Time(part, {.session = alone.get(), .batch = &batch}); });
}
BENCHMARK(EarlyExit)->UseManualTime()->Unit(benchmark::kMicrosecond);

void GoOn(benchmark::State& state) {
  const Model& whole = Made(0, kLayers);
  const Model& rest = Made(kExit, kLayers);
  const std::unique_ptr<Session> session = WithText(whole);
  const std::unique_ptr<Session> view = MustView(*session);
  const std::unique_ptr<Session> alone = WithText(rest);
  const TokenBatch batch = Chain(8);
  InTurns(
      state,
      [&] {
        Check(session->Commit({}).ok(), "nothing refuses this");
        Time(whole, {.session = view.get(), .batch = &batch});
        return Time(whole, {.session = session.get(),
                            .batch = &batch,
                            .done = {view.get(), Range(0, batch.size())}});
      },
      [&] { return Time(rest, {.session = alone.get(), .batch = &batch}); });
}
BENCHMARK(GoOn)->UseManualTime()->Unit(benchmark::kMicrosecond);

void Probe(benchmark::State& state) {
  const Model& whole = Made(0, kLayers);
  const std::unique_ptr<Session> planted = WithText(whole);
  const std::unique_ptr<Session> plain = WithText(whole);
  const TokenBatch batch = Chain(8);
  const std::vector<float> vectors(
      static_cast<std::size_t>(4 * whole.hidden_size()), 0.1F);
  InTurns(
      state,
      [&] {
        return Time(whole, {.session = planted.get(),
                            .batch = &batch,
                            .vectors = vectors,
                            .vector_rows = Range(4, 8)});
      },
      [&] { return Time(whole, {.session = plain.get(), .batch = &batch}); });
}
BENCHMARK(Probe)->UseManualTime()->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace banyan

BENCHMARK_MAIN();
