// Cutting a text into words: the scanners of the known patterns, and PCRE2 on
// the same patterns.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/base/check.h"
#include "core/base/common.h"
#include "core/tokenizer/patterns/regex.h"
#include "core/tokenizer/patterns/split_pattern.h"
#include "tests/benchmarks/benchmarks.h"

namespace banyan {
namespace {

// 64 KiB, as prompts are: prose, code, other scripts.
std::string Text() {
  constexpr absl::string_view kPart =
      "A tree of 1234 tokens isn't grown in one pass; they'll be judged in "
      "one.\n    for node in tree:\n\t\tpath.append(node[0])  # 3.14\n\n"
      "Der Baum wächst über Äste. Дерево растёт. 模型在树上工作。\n";
  std::string text;
  while (text.size() < (std::size_t{64} << 10)) absl::StrAppend(&text, kPart);
  return text;
}

void TimeScanner(benchmark::State& state, SplitPattern pattern) {
  const std::string text = Text();
  for (auto _ : state)
    for (std::size_t at = 0; at < text.size();)
      benchmark::DoNotOptimize(at = WordEnd(pattern, text, at));
  state.SetBytesProcessed(state.iterations() *
                          static_cast<std::int64_t>(text.size()));
}

void TimeRegex(benchmark::State& state, SplitPattern pattern) {
  const std::string text = Text();
  const absl::StatusOr<Regex> regex = Regex::Compile(RegexOf(pattern));
  Check(regex.ok(), "a known pattern compiles");
  for (auto _ : state) benchmark::DoNotOptimize(regex->FindAll(text)->size());
  state.SetBytesProcessed(state.iterations() *
                          static_cast<std::int64_t>(text.size()));
}

}  // namespace

void RegisterSplit() {
  const auto add = [](absl::string_view name, SplitPattern pattern) {
    benchmark::RegisterBenchmark(
        absl::StrCat("Split/scanner/", name).c_str(),
        [pattern](benchmark::State& state) { TimeScanner(state, pattern); });
    benchmark::RegisterBenchmark(
        absl::StrCat("Split/pcre2/", name).c_str(),
        [pattern](benchmark::State& state) { TimeRegex(state, pattern); });
  };
  add("gpt2", SplitPattern::kGpt2);
  add("llama3", SplitPattern::kLlama3);
  add("qwen2", SplitPattern::kQwen2);
}

}  // namespace banyan
