// A round of the drafters that look into the text: growing a chain of eight and
// observing what was committed, three tokens a round. The size is the history
// that is full when the clock starts.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/check.h"
#include "core/base/common.h"
#include "core/model/context.h"
#include "core/prob/sampling_rule.h"
#include "core/random/random_source.h"
#include "drafters/drafter.h"
#include "drafters/drafting.h"
#include "drafters/text/copy/copy.h"
#include "drafters/text/ngram/ngram.h"
#include "tests/benchmarks/benchmarks.h"
#include "tests/benchmarks/made_up_text.h"
#include "tests/support/draft_trunk.h"
#include "tree/draft_tree.h"
#include "tree/merge.h"
#include "tree/optimize/shape.h"
#include "tree/policies/fixed_shape.h"
#include "tree/trunk_tree.h"
#include "tree/verdict.h"

namespace banyan {
namespace {

constexpr int kHistories[] = {512, 4096};

std::unique_ptr<Drafter> MakeNGram(int history, DrawKind draw_kind) {
  const bool greedy = draw_kind == DrawKind::kDeterministic;
  return std::make_unique<NGram>(
      kTextVocabSize, NGramOptions{.history = history},
      SamplingRule({.temperature = greedy ? 0.0 : 1.0}));
}

std::unique_ptr<Drafter> MakeCopy(int history, DrawKind /*draw_kind*/) {
  return std::make_unique<Copy>(kTextVocabSize,
                                CopyOptions{.history = history});
}

struct Case {
  const char* name;
  std::unique_ptr<Drafter> (*make)(int history, DrawKind draw_kind);
  DrawKind draw_kind;
};

constexpr Case kCases[] = {
    {"ngram/independent", MakeNGram, DrawKind::kIndependent},
    {"ngram/deterministic", MakeNGram, DrawKind::kDeterministic},
    {"copy/deterministic", MakeCopy, DrawKind::kDeterministic},
};

void TimeRound(benchmark::State& state, const Case& drafter_case, int history) {
  const std::unique_ptr<Drafter> drafter =
      drafter_case.make(history, drafter_case.draw_kind);
  const FixedShape policy(Shape::Chain(8));
  SeededSource random(1);
  Context context;
  std::uint64_t length = 0;
  while (length < 2 * static_cast<std::uint64_t>(history))
    context.tokens.push_back(TextAt(length++));
  const std::unique_ptr<DraftSession> session = drafter->NewSession();
  Check(session->Begin(context).ok(), "a text can be begun");
  const TrunkTree bare(0, 0, drafter_case.draw_kind);
  const DraftTree tree_observed =
      Merge({&bare, 1});  // none of them looks at it
  const Verdict verdict;
  double drafted = 0;
  for (auto _ : state) {
    absl::StatusOr<TrunkTree> tree = DraftTrunk(
        {*drafter, *session, policy, drafter_case.draw_kind, 0}, context,
        {.max_depth = 100}, Chance(random, context.prompt, context.round));
    Check(tree.ok(), "these drafters do not fail");
    drafted += tree->size() - 1;
    for (int i = 0; i < 3; ++i) context.tokens.push_back(TextAt(length++));
    ++context.round;
    Check(session->Observe(context, {tree_observed, verdict, 0}).ok(),
          "a round can be observed");
  }
  state.counters["drafted"] = {drafted, benchmark::Counter::kAvgIterations};
}

}  // namespace

void RegisterDrafters() {
  for (const Case& drafter_case : kCases) {
    for (int history : kHistories) {
      benchmark::RegisterBenchmark(
          absl::StrCat("Drafter/", drafter_case.name, "/", history).c_str(),
          [&drafter_case, history](benchmark::State& state) {
            TimeRound(state, drafter_case, history);
          })
          ->Unit(benchmark::kMicrosecond);
    }
  }
}

}  // namespace banyan
