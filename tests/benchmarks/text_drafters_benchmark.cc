// What a round costs drafters that look the end of the text up in other text:
// observing three tokens, and drafting by a policy. The size is the tokens
// that are held when the clock starts: of the text itself, or, where the
// drafter keeps texts from prompt to prompt, of texts of 512 in prompts before
// one of 512. `trie` has the branches of the text, `recycling` a row of logits
// of each node of its tree to read, whatever the text. While the clock runs the
// text grows by a quarter at most; then it begins anew, which is not in the
// time.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "configs/loader/yaml.h"
#include "core/base/check.h"
#include "core/base/common.h"
#include "core/base/params.h"
#include "core/base/token.h"
#include "core/model/context.h"
#include "core/model/model.h"
#include "core/model/table_model.h"
#include "core/ops/backend.h"
#include "core/ops/devices.h"
#include "core/prob/sampling_rule.h"
#include "core/random/random_source.h"
#include "drafters/catalogue.h"
#include "drafters/drafter.h"
#include "drafters/drafting.h"
#include "drafters/workbench.h"
#include "tests/benchmarks/benchmarks.h"
#include "tests/benchmarks/made_up_text.h"
#include "tests/support/draft_trunk.h"
#include "tree/draft_tree.h"
#include "tree/merge.h"
#include "tree/policies/catalogue.h"
#include "tree/tree_policy.h"
#include "tree/trunk_tree.h"
#include "tree/verdict.h"

namespace banyan {
namespace {

constexpr int kSizes[] = {512, 2'048, 8'192, 32'768};
constexpr int kPrompt = 512;
constexpr int kTokensOfRound = 3;

constexpr char kChain[] = "{name: chain, nodes: 8}";
constexpr char kTree[] = "{name: best_first, most_draws: 8}";
constexpr char kLargeTree[] = "{name: best_first, most_draws: 80}";

struct Case {
  const char* name;
  const char* drafter;
  const char* policy;
};

constexpr Case kCases[] = {
    {"ngram", "{name: ngram, history: 0}", kChain},
    {"copy", "{name: copy, history: 0}", kChain},
    {"suffix", "{name: suffix}", kChain},
    {"suffix_24", "{name: suffix, depth: 24}", kChain},
    {"suffix_tree", "{name: suffix, mode: tree}", kTree},
    {"suffix_warm", "{name: suffix, reset: never}", kChain},
    {"sam", "{name: sam}", kChain},
    {"sam_warm", "{name: sam, reset: never}", kChain},
    {"trie", "{name: trie, nodes: 8}", kTree},
    {"trie_warm", "{name: trie, nodes: 8, reset: never}", kTree},
    {"recycling", "{name: recycling}", kTree},
    {"recycling_80", "{name: recycling}", kLargeTree},
};

// Made-up rows of what the target says, read as those of a pass are.
class MadeUpScores : public Scores {
 public:
  MadeUpScores() {
    std::vector<float> logits;
    for (std::uint64_t i = 0; i < kRows * kTextVocabSize; ++i)
      logits.push_back(static_cast<float>(TextAt(i)));
    auto backend = OpenDevice(kDefaultDevice);
    Check(backend.ok(), "the default device is there");
    backend_ = *std::move(backend);
    auto buffer = backend_->Allocate(logits.size() * sizeof(float));
    Check(buffer.ok(), "there is room");
    buffer_ = *std::move(buffer);
    Check(backend_->Upload(std::as_bytes(std::span(logits)), *buffer_, 0).ok(),
          "rows can be uploaded");
  }

  int vocab_size() const override { return kTextVocabSize; }
  absl::Status Read(int /*row*/,
                    std::vector<double>& /*logits*/) const override {
    return absl::UnimplementedError("nobody asks for it");
  }
  absl::StatusOr<std::vector<TokenLogit>> Best(int row, int k) const override {
    const std::size_t first =
        static_cast<std::size_t>(row) % kRows * kTextVocabSize;
    return backend_->Best(
        {{{buffer_.get(), first, 1, kTextVocabSize, kTextVocabSize},
          kTextVocabSize},
         k});
  }

 private:
  static constexpr std::size_t kRows = 7;
  std::shared_ptr<Backend> backend_;
  std::unique_ptr<Buffer> buffer_;
};

Params Read(const char* text) {
  absl::StatusOr<Params> section = ParseYaml(text, "benchmark");
  Check(section.ok(), "a section can be read");
  return *std::move(section);
}

std::unique_ptr<Drafter> Make(const char* section) {
  // Nobody asks it anything.
  const auto target = std::make_shared<TableModel>(
      kTextVocabSize, [](absl::Span<const TokenId> /*text*/) {
        return std::vector<double>{1};
      });
  Workbench bench(target, SamplingRule({.temperature = 0}),
                  std::make_shared<Assets>());
  absl::StatusOr<std::unique_ptr<Drafter>> drafter =
      BuildDrafter(Read(section), bench);
  Check(drafter.ok(), "a drafter can be built");
  return *std::move(drafter);
}

class Rounds {
 public:
  Rounds(const Case& of, int size)
      : drafter_(Make(of.drafter)),
        policy_(std::move(BuildPolicy(Read(of.policy))->policy)),
        length_(drafter_->carried() != nullptr ? kPrompt : size) {
    if (drafter_->carried() == nullptr) return;
    for (int held = 0; held < size; held += kPrompt) {
      const std::unique_ptr<DraftSession> earlier = drafter_->NewSession();
      Context context = {.tokens = {Next()}, .prompt_length = 1};
      Check(earlier->Begin(context).ok(), "a text can be begun");
      for (int i = 0; i < kPrompt; ++i) context.tokens.push_back(Next());
      Check(drafter_->carried()->Absorb(context.tokens, earlier->End()).ok(),
            "a text can be taken over");
    }
  }

  // Whether the text has grown by a quarter, or there is none.
  bool spent() const {
    return session_ == nullptr ||
           context_.tokens.size() >= static_cast<std::size_t>(length_ * 5 / 4);
  }
  void Begin() {
    context_ = {};
    for (int i = 0; i < length_; ++i) context_.tokens.push_back(Next());
    context_.prompt_length = length_;
    session_ = drafter_->NewSession();
    Check(session_->Begin(context_).ok(), "a text can be begun");
  }

  // How many tokens were drafted.
  int Run() {
    absl::StatusOr<TrunkTree> tree = DraftTrunk(
        {*drafter_, *session_, *policy_, DrawKind::kDeterministic, 0}, context_,
        {.max_depth = 100}, Chance(random_, context_.prompt, context_.round));
    Check(tree.ok(), "these drafters do not fail");
    for (int i = 0; i < kTokensOfRound; ++i) context_.tokens.push_back(Next());
    ++context_.round;
    if (drafter_->traits().reads_scores) {
      context_.scored = &scores_;
      observed_ = Merge({&*tree, 1});
    }
    Check(session_->Observe(context_, {observed_, verdict_, 0}).ok(),
          "a round can be observed");
    context_.scored = nullptr;
    return tree->size() - 1;
  }

 private:
  TokenId Next() { return TextAt(next_++); }

  std::unique_ptr<Drafter> drafter_;
  std::unique_ptr<DraftSession> session_;
  std::unique_ptr<TreePolicy> policy_;
  int length_;
  std::uint64_t next_ = 0;
  Context context_;
  SeededSource random_{1};
  const TrunkTree bare_{0, 0, DrawKind::kDeterministic};
  DraftTree observed_ = Merge({&bare_, 1});  // for who looks at it
  const MadeUpScores scores_;
  const Verdict verdict_;
};

void TimeRounds(benchmark::State& state, const Case& of, int size) {
  Rounds rounds(of, size);
  double drafted = 0;
  for (auto _ : state) {
    if (rounds.spent()) {
      state.PauseTiming();
      rounds.Begin();
      state.ResumeTiming();
    }
    drafted += rounds.Run();
  }
  state.counters["drafted"] = {drafted, benchmark::Counter::kAvgIterations};
}

}  // namespace

void RegisterTextDrafters() {
  for (const Case& of : kCases)
    for (int size : kSizes)
      benchmark::RegisterBenchmark(
          absl::StrCat("TextDrafter/", of.name, "/", size).c_str(),
          [&of, size](benchmark::State& state) { TimeRounds(state, of, size); })
          ->Unit(benchmark::kMicrosecond);
}

}  // namespace banyan
