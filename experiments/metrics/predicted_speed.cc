// The speed that the measured acceptance and costs predict. With m tokens a
// pass, d the mean time to draft, t that of a target pass and t1 that of the
// baseline's,
//
//   predicted = m t1 / (d + t) = (tokens / (draft + target time))
//                                / (baseline's passes / its target time).
//
// The measured speed differs from it by what either side spends in between:
// flattening, verifying, committing. Prompts with rounds that a device ran
// alone, on either side, are left out: these have no such times.
#include "experiments/metrics/counters.h"
#include "experiments/metrics/metric.h"
#include "experiments/metrics/round_figures.h"
#include "experiments/records/prompt_pair.h"
#include "experiments/records/record.pb.h"

namespace banyan {

void CountPredictedSpeed(const PromptPair& pair, Counts& counts) {
  if (pair.baseline == nullptr) return;
  if (HasDeviceRounds(*pair.record) || HasDeviceRounds(*pair.baseline)) return;
  Part& part = counts.parts[""];
  part.over += pair.record->tokens_size();
  for (const records::Round& round : pair.record->rounds())
    part.under += DraftNs(round) + TargetNs(round);
  part.base_over += pair.baseline->rounds_size();
  part.base_under += TargetNs(*pair.baseline);
}

}  // namespace banyan
