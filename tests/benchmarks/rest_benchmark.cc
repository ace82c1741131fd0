// A round of the drafter rest: looking the text up in a corpus and planning
// (Rest/plan), and that with a tree of 64 nodes grown from the plan
// (Rest/round). The size is the corpus in tokens: one that is made up, or that
// of the index whose folder BANYAN_BENCHMARK_INDEX names. Each round has a text
// from another place of the corpus, of which the last 2 to 16 tokens are as
// they stand there.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/common.h"
#include "core/base/token.h"
#include "core/model/context.h"
#include "core/prob/sampling_rule.h"
#include "core/random/random_source.h"
#include "drafters/drafter.h"
#include "drafters/drafting.h"
#include "drafters/text/corpus_index.h"
#include "drafters/text/rest/rest.h"
#include "experiments/makers/index/index_builder.h"
#include "tests/benchmarks/benchmarks.h"
#include "tests/support/draft_trunk.h"
#include "tests/support/mix.h"
#include "tree/draft_tree.h"
#include "tree/merge.h"
#include "tree/policies/best_first.h"
#include "tree/trunk_tree.h"
#include "tree/verdict.h"

namespace banyan {
namespace {

constexpr char kIndex[] = "BANYAN_BENCHMARK_INDEX";
constexpr int kTexts = 1 << 14;
constexpr std::size_t kTextTokens = 32;
constexpr int kNodes = 64;

// Words of Zipf's distribution, each after one of its few usual predecessors.
std::vector<TokenId> MadeDocument(std::uint64_t number) {
  constexpr int kWords = 2000;
  std::vector<TokenId> tokens(1000);
  std::uint64_t before = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::uint64_t draw = Mix(number << 20 | i);
    const double u = static_cast<double>(draw >> 11) * 0x1p-53;
    const auto word = static_cast<std::uint64_t>(1 / (u + 1.0 / kWords));
    before =
        draw % 4 == 0 ? word % kWords : Mix(before << 8 | word % 8) % kWords;
    tokens[i] = static_cast<TokenId>(before);
  }
  return tokens;
}

std::shared_ptr<const CorpusIndex> Opened(const std::string& folder) {
  auto index = CorpusIndex::Open(folder);
  Check(index.ok(), index.status().message());
  return *std::move(index);
}

// The files go at once; what is mapped stays.
std::shared_ptr<const CorpusIndex> MadeIndex() {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() /
      absl::StrCat("banyan_benchmark_index_", getpid());
  auto builder = IndexBuilder::Open(folder.string(), {.vocab_size = 2048});
  Check(builder.ok(), builder.status().message());
  for (std::uint64_t i = 0; i < 100; ++i) {
    const absl::Status added = (*builder)->Add(absl::StrCat(i), [i] {
      return absl::StatusOr<std::vector<TokenId>>(MadeDocument(i));
    });
    Check(added.ok(), added.message());
  }
  const auto built = (*builder)->Finish();
  Check(built.ok(), built.status().message());
  auto index = Opened(folder.string());
  std::filesystem::remove_all(folder);
  return index;
}

// Opened when the first case runs, for all of them.
const std::shared_ptr<const CorpusIndex>& Index() {
  static const auto& index = *new std::shared_ptr<const CorpusIndex>(
      std::getenv(kIndex) == nullptr ? MadeIndex()
                                     : Opened(std::getenv(kIndex)));
  return index;
}

std::vector<std::vector<TokenId>> Texts(const CorpusIndex& index) {
  const auto places = index.Find({});
  Check(places.ok(), places.status().message());
  const auto passages =
      index.After({.length = 0, .places = *places}, kTextTokens, kTexts);
  Check(passages.ok(), passages.status().message());
  std::vector<std::vector<TokenId>> texts;
  std::size_t begin = 0;
  for (const std::size_t end : passages->ends) {
    if (end - begin == kTextTokens) {
      texts.emplace_back(
          passages->tokens.begin() + static_cast<std::ptrdiff_t>(begin),
          passages->tokens.begin() + static_cast<std::ptrdiff_t>(end));
      TokenId& other = texts.back()[kTextTokens - 3 - texts.size() % 15];
      other = (other + 1) % index.manifest().vocab_size;
    }
    begin = end;
  }
  // From everywhere, not in the order of the array.
  for (std::size_t i = texts.size(); i > 1; --i)
    std::swap(texts[i - 1], texts[Mix(i) % i]);
  return texts;
}

void TimeRound(benchmark::State& state, bool with_tree) {
  const std::shared_ptr<const CorpusIndex>& index = Index();
  const std::vector<std::vector<TokenId>> texts = Texts(*index);
  Rest drafter(index, index->manifest().vocab_size, {}, SamplingRule());
  const BestFirst policy({.most_draws = kNodes});
  const DrawKind draw_kind = DrawKind::kDeterministic;
  SeededSource random(1);
  Context context;
  context.tokens = texts.front();
  const std::unique_ptr<DraftSession> session = drafter.NewSession();
  Check(session->Begin(context).ok(), "a text can be begun");
  const TrunkTree bare(0, 0, draw_kind);
  const DraftTree observed = Merge({&bare, 1});  // it does not look at it
  const Verdict verdict;
  double drafted = 0;
  std::size_t next = 0;
  for (auto _ : state) {
    context.tokens = texts[next++ % texts.size()];
    ++context.round;
    Check(session->Observe(context, {observed, verdict, 0}).ok(),
          "a round can be observed");
    if (!with_tree) continue;
    const absl::StatusOr<TrunkTree> tree = DraftTrunk(
        {drafter, *session, policy, draw_kind, 0}, context, {.max_depth = 100},
        Chance(random, context.prompt, context.round));
    Check(tree.ok(), "a plan does not fail");
    drafted += tree->size() - 1;
  }
  state.counters["corpus"] = static_cast<double>(index->manifest().tokens());
  state.counters["drafted"] = {drafted, benchmark::Counter::kAvgIterations};
}

}  // namespace

void RegisterRest() {
  for (const bool with_tree : {false, true})
    benchmark::RegisterBenchmark(
        with_tree ? "Rest/round" : "Rest/plan",
        [with_tree](benchmark::State& state) { TimeRound(state, with_tree); })
        ->Unit(benchmark::kMicrosecond);
}

}  // namespace banyan
