// The sign test: on how many prompts one cell was faster than another, and how
// likely so lopsided a count is if each were as likely as the other (two-sided,
// exact). It asks less of prompts than the bootstrap: only that they are
// independent, not that they are many.
#ifndef BANYAN_EXPERIMENTS_METRICS_SIGN_TEST_H_
#define BANYAN_EXPERIMENTS_METRICS_SIGN_TEST_H_

#include "absl/types/span.h"
#include "experiments/records/prompt_pair.h"

namespace banyan {

struct SignTest {
  int faster = 0;
  int slower = 0;  // ties count for neither
  double p = 1;
};

// By milliseconds a token, over the prompts that both have. Prompts that share
// a chat or a batch are one.
SignTest CompareSigns(absl::Span<const PromptPair> a,
                      absl::Span<const PromptPair> b);

// The chance of a count at least as far from even as this one.
double SignTestP(int faster, int slower);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_METRICS_SIGN_TEST_H_
