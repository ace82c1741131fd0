// A prompt as a cell decoded it, beside the same prompt without drafters.
#ifndef BANYAN_EXPERIMENTS_RECORDS_PROMPT_PAIR_H_
#define BANYAN_EXPERIMENTS_RECORDS_PROMPT_PAIR_H_

#include <cstddef>
#include <optional>
#include <string>

#include "experiments/records/record.pb.h"

namespace banyan {

// What the rounds of both would take at costs that somebody stated.
struct StatedTimes {
  std::string costs;  // what numbers that rest on them are called by
  double ms = 0;
  double baseline_ms = 0;  // 0 without a baseline
  // Of the record's, had each drafted just what it kept; none where that cannot
  // be told.
  std::optional<double> oracle_ms = {};
};

// Owns no record.
struct PromptPair {
  const records::Cell* cell = nullptr;
  const records::PromptRecord* record = nullptr;
  // The record of the cell's baseline: `record` itself where the cell is its
  // own, null where the baseline has not decoded this prompt on this machine.
  const records::PromptRecord* baseline = nullptr;
  std::optional<StatedTimes> stated = {};
  std::size_t machine = 0;  // that it was recorded on: RecordSet::machines
};

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_RECORDS_PROMPT_PAIR_H_
