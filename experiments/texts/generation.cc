#include "experiments/texts/generation.h"

#include <utility>

#include "core/base/common.h"

namespace banyan {
namespace {

constexpr double kNsPerMs = 1e6;

void Add(const RoundRecord& record, Generation& generation) {
  generation.ids.insert(generation.ids.end(), record.emitted.begin(),
                        record.emitted.end());
  generation.rounds.push_back(
      {.nodes = record.tree.Drafted(),
       .probes = record.tree.size() - 1 - record.tree.Drafted(),
       .accepted = static_cast<int>(record.verdict.path.size()),
       .emitted = static_cast<int>(record.emitted.size())});
  ++generation.on_host[record.host_cause];
  PhaseTotals& times = generation.times;
  for (std::int64_t draft_ns : record.times.draft_ns)
    times.draft_ns += draft_ns;
  times.derive_ns += record.times.derive_ns;
  times.target_ns += record.times.target_ns;
  times.verify_ns += record.times.verify_ns;
  times.device_ns += record.times.device_ns;
  times.commit_ns += record.times.commit_ns;
}

}  // namespace

double Generation::TokensPerPass() const {
  return static_cast<double>(ids.size()) / static_cast<double>(rounds.size());
}

double Generation::MsPerToken() const {
  return static_cast<double>(times.RoundsNs()) / kNsPerMs /
         static_cast<double>(ids.size());
}

double Generation::PromptMsPerToken() const {
  return static_cast<double>(times.prefill_ns) / kNsPerMs /
         static_cast<double>(prompt.size());
}

absl::StatusOr<Generation> Generate(Decoder& decoder,
                                    const GenerationTask& task,
                                    TokenStream& stream) {
  Generation generation;
  generation.prompt = task.prompt.tokens;
  const std::int64_t start = task.clock.NowNs();
  BANYAN_ASSIGN_OR_RETURN(Sequence sequence,
                          decoder.Begin(task.prompt, task.stop));
  BANYAN_RETURN_IF_ERROR(sequence.target.Finish());
  generation.times.prefill_ns = task.clock.NowNs() - start;
  BANYAN_RETURN_IF_ERROR(stream.Prompt(task.prompt.tokens));
  while (sequence.stopped == StopReason::kNone) {
    BANYAN_ASSIGN_OR_RETURN(const RoundRecord record,
                            decoder.Step(sequence, task.random));
    Add(record, generation);
    BANYAN_RETURN_IF_ERROR(stream.Emit(record));
  }
  BANYAN_RETURN_IF_ERROR(stream.Finish());
  generation.stopped = sequence.stopped;
  generation.text = stream.text();
  return generation;
}

}  // namespace banyan
