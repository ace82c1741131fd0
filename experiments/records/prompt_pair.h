// A prompt as a cell decoded it, beside the same prompt without drafters.
#ifndef BANYAN_EXPERIMENTS_RECORDS_PROMPT_PAIR_H_
#define BANYAN_EXPERIMENTS_RECORDS_PROMPT_PAIR_H_

#include "experiments/records/record.pb.h"

namespace banyan {

// Owns nothing.
struct PromptPair {
  const records::Cell* cell = nullptr;
  const records::PromptRecord* record = nullptr;
  // The record of the cell's baseline: `record` itself where the cell is its
  // own, null where the baseline has not decoded this prompt.
  const records::PromptRecord* baseline = nullptr;
};

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_RECORDS_PROMPT_PAIR_H_
