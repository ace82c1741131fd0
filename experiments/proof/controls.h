// Controls: methods broken on purpose, each in one way that this field has
// seen. They exist to show that the proofs have teeth, and to let anyone see
// how far each mistake moves the law: `control: NAME` in a file for `banyan
// law`.
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
  // The broken verifier; it may use `right`, the one the file asked for, and
  // the rule of the target's laws.
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
