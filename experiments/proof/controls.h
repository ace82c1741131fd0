// Controls: methods broken on purpose, each with one mistake that is known in
// the field. The tests check that the proofs catch every control. `control:
// NAME` in a file for `banyan exact` shows how far a mistake moves the output
// distribution.
#ifndef BANYAN_EXPERIMENTS_PROOF_CONTROLS_H_
#define BANYAN_EXPERIMENTS_PROOF_CONTROLS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/base/params.h"
#include "core/prob/sampling_rule.h"
#include "core/random/random_source.h"
#include "verifiers/verifier.h"

namespace banyan {

struct ControlRow {
  absl::string_view name;
  absl::string_view sentence;  // what is wrong
  // Makes the broken verifier. May use `right`, the verifier of the file, and
  // the sampling rule of the target's distributions.
  std::unique_ptr<Verifier> (*wrap)(std::unique_ptr<Verifier> right,
                                    const SamplingRule& rule) = nullptr;
  // Broken chance over honest chance.
  std::unique_ptr<RandomSource> (*chance)(RandomSource& honest) = nullptr;
  // Rounds to enumerate jointly; 0: each by itself.
  int rounds = 0;
};

absl::Span<const ControlRow> ControlCatalogue();

// The row a configuration names; an error with the nearest known name.
absl::StatusOr<const ControlRow*> FindControl(const Params& name);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_PROOF_CONTROLS_H_
