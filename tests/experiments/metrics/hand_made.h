// Records with rounds small enough to count by hand.
#ifndef BANYAN_TESTS_EXPERIMENTS_METRICS_HAND_MADE_H_
#define BANYAN_TESTS_EXPERIMENTS_METRICS_HAND_MADE_H_

#include <cstdint>
#include <vector>

#include "experiments/records/record.pb.h"

namespace banyan {

struct List {
  int node = 0;
  int trunk = 0;
  std::vector<std::int32_t> children;  // -1: dropped
  double overlap = 0.5;
};

// Adds a round. Node i has token i; a dropped draw has token 99.
records::Round& AddRound(const std::vector<std::int32_t>& parents,
                         const std::vector<List>& lists,
                         const std::vector<std::int32_t>& path,
                         records::PromptRecord& record);

// `draft` is of one trunk, none if 0; deriving, verifying and committing take
// `other` once, twice and thrice.
void SetTimes(std::int64_t draft, std::int64_t target, std::int64_t other,
              records::Round& round);

// The drafters are "model" and "ngram".
records::Cell CellOf(int trunks);

// The baseline of one token a round, 10 us each, 8 of them in the target.
records::PromptRecord Plain(int tokens);

// Two trunks. The root's children are 1 and 4; 2 and 3 are those of 1. Both
// trunks propose 1, the second twice; 2 is the first trunk's alone and 3 the
// second's. Accepted: 1, 3.
records::PromptRecord Tree();

// The same cell refuses everything, and then has nothing drafted.
records::PromptRecord Refusals();

// One trunk. First a chain 1 2, accepted, with a probe below 2 and a chain of
// two below the root; then nothing drafted, and two probes.
records::PromptRecord Probed();

}  // namespace banyan

#endif  // BANYAN_TESTS_EXPERIMENTS_METRICS_HAND_MADE_H_
