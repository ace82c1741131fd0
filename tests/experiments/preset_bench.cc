#include "tests/experiments/preset_bench.h"

#include <cstdint>
#include <utility>

#include "core/base/check.h"
#include "core/base/common.h"
#include "core/base/weight_format.h"
#include "core/checkpoint/checkpoint.h"
#include "core/random/random_source.h"
#include "core/transformer/weight_stream.h"
#include "experiments/plan/read_method.h"
#include "experiments/plan/workload.h"
#include "experiments/run/prepared_run.h"
#include "tests/experiments/preset_files.h"
#include "tests/support/tree_text.h"

namespace banyan {
namespace {

std::string Line(const RoundRecord& round) {
  return absl::StrCat(ToText(round.tree), " -> ",
                      absl::StrJoin(round.emitted, " "), "\n");
}

class Traces : public BatchListener {
 public:
  explicit Traces(std::size_t prompts) { together.traces.resize(prompts); }
  void Admitted(std::size_t, std::int64_t, std::int64_t) override {}
  void Round(std::size_t prompt, const RoundRecord& round) override {
    together.traces[prompt] += Line(round);
    together.shared += round.sequences > 1 ? 1 : 0;
  }
  void Ended(std::size_t, StopReason, std::int64_t, const Lesson&) override {}

  PresetBench::Together together;
};

Workload MustReadWorkload(const std::string& name) {
  auto workload =
      ReadWorkload(absl::StrCat("experiments/workloads/", name, ".jsonl"));
  Check(workload.ok(), workload.status().message());
  return *std::move(workload);
}

std::vector<Prompt> InTokens(const Workload& workload,
                             const std::vector<int>& numbers) {
  ModelShelf shelf(OneThread());
  const auto target = shelf.Open({kShippedTarget, "auto"});
  Check(target.ok(), target.status().message());
  std::vector<Prompt> prompts;
  for (int number : numbers) {
    auto tokens =
        TokensOf(workload.prompts[static_cast<std::size_t>(number)], *target);
    Check(tokens.ok(), tokens.status().message());
    prompts.push_back({static_cast<std::uint32_t>(number), *std::move(tokens)});
  }
  return prompts;
}

std::vector<int> Chosen(const Workload& workload,
                        const std::vector<std::string>& kinds, int count) {
  auto chosen = ChoosePrompts({"", kinds, count}, workload);
  Check(chosen.ok(), chosen.status().message());
  return *std::move(chosen);
}

}  // namespace

std::vector<Prompt> ShippedPrompts(int count) {
  const Workload workload = MustReadWorkload("pycode");
  return InTokens(workload, Chosen(workload, {}, count));
}

std::vector<Prompt> PromptsFor(const std::string& preset, int count) {
  if (!DraftsFromText(preset)) return ShippedPrompts(count);
  const Workload workload = MustReadWorkload("pyrepeat");
  return InTokens(
      workload,
      Chosen(workload, {"edit", "quote", "template", "cases", "table"}, count));
}

PresetBench::PresetBench(std::shared_ptr<Backend> backend, std::string target,
                         std::vector<Prompt> prompts, int tokens, bool streamed)
    : shelf_(std::move(backend)),
      target_(std::move(target)),
      streamed_(streamed),
      prompts_(std::move(prompts)),
      stop_({.max_new_tokens = tokens}) {}

LoadedMethod PresetBench::Open(const Params& file, const std::string& weights,
                               const std::string& temperature) {
  MethodContext context = {
      .target = {target_, weights},
      .shelf = shelf_,
      .sampling = {{"temperature", {}, Params::Scalar(temperature)}}};
  if (streamed_) {
    context.target.memory = "1";
    const auto spec = LeaveRoom(ReadMethodSpec(file), context);
    Check(spec.ok(), spec.status().message());
    const auto checkpoint = Checkpoint::Open(target_);
    Check(checkpoint.ok(), checkpoint.status().message());
    context.target.memory = absl::StrCat(WeightStream::LeastMemory(
        **checkpoint,
        {.reserved = spec->reserved, .copies = FindFormat(spec->copies)}));
  }
  auto method = ReadMethodFile(file, context);
  Check(method.ok(), method.status().message());
  return *std::move(method);
}

std::map<std::size_t, std::vector<TokenId>> PresetBench::Decode(
    const LoadedMethod& method,
    absl::FunctionRef<bool(std::size_t)> is_chosen) {
  std::map<std::size_t, std::vector<TokenId>> texts;
  for (std::size_t i = 0; i < prompts_.size(); ++i) {
    if (!is_chosen(i)) continue;
    SeededSource random(1);
    auto text = method.decoder->Decode(
        prompts_[i], stop_, random, [&](const RoundRecord& round) {
          ++rounds;
          drafted += static_cast<std::size_t>(round.tree.Drafted());
          accepted += round.verdict.path.size();
        });
    Check(text.ok(), text.status().message());
    texts[i] = *std::move(text);
  }
  return texts;
}

std::string PresetBench::Trace(Decoder& decoder, const Prompt& prompt) const {
  std::string trace;
  SeededSource random(1);
  const auto text =
      decoder.Decode(prompt, stop_, random,
                     [&](const RoundRecord& round) { trace += Line(round); });
  Check(text.ok(), text.status().message());
  return trace;
}

PresetBench::Together PresetBench::TraceTogether(
    Decoder& decoder, const std::vector<Prompt>& prompts, int slots) const {
  Traces traces(prompts.size());
  SeededSource random(1);
  const absl::Status status =
      DecodeBatch(decoder, prompts, stop_, slots, random, traces);
  Check(status.ok(), status.message());
  return traces.together;
}

}  // namespace banyan
