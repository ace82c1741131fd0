// The first token that is not the baseline's, which at temperature 0 a lossless
// method must not have. "prompts" is the share that differ, "place" the mean
// number of equal tokens before, "logit gap" how far the baseline's best token
// lay above its second there: a tiny gap hints at rounding, a large one at a
// fault.
#include <algorithm>

#include "experiments/metrics/counters.h"
#include "experiments/metrics/metric.h"
#include "experiments/records/prompt_pair.h"
#include "experiments/records/record.pb.h"

namespace banyan {
namespace {

// Not so at a later turn of a chat that answered otherwise before.
bool SamePrompt(const PromptPair& pair) {
  const auto& own = pair.record->prompt_tokens();
  const auto& plain = pair.baseline->prompt_tokens();
  return std::equal(own.begin(), own.end(), plain.begin(), plain.end());
}

}  // namespace

void CountDivergence(const PromptPair& pair, Counts& counts) {
  if (pair.baseline == nullptr || pair.baseline == pair.record ||
      pair.cell->temperature() != 0 || !SamePrompt(pair))
    return;
  const auto& tokens = pair.record->tokens();
  const auto& plain = pair.baseline->tokens();
  const auto place =
      std::mismatch(tokens.begin(), tokens.end(), plain.begin(), plain.end())
          .second -
      plain.begin();
  const bool differs = place < std::max(tokens.size(), plain.size());
  Part& share = counts.parts["prompts"];
  share.over += differs ? 1 : 0;
  share.under += 1;
  if (!differs) return;
  Part& mean = counts.parts["place"];
  mean.over += static_cast<double>(place);
  mean.under += 1;
  const int at = static_cast<int>(place);
  if (at >= pair.baseline->logit_gap_size()) return;
  Part& gap = counts.parts["logit gap"];
  gap.over += pair.baseline->logit_gap(at);
  gap.under += 1;
}

}  // namespace banyan
