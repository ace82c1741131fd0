// Functions that check whether a head's files are read as they were meant. A
// drafter's row of the catalogue points to its own, so that `banyan doctor`
// need not know the drafter.
//
// At every place of some texts, the head's distribution of the next token but
// one is compared with the target's, given the true tokens: at the first step
// after the target's own states, at each further step after the head's output
// of the step before. This is done as the files say, and with each assumption
// turned into its other.
#ifndef BANYAN_DRAFTERS_HEADS_HEAD_DOCTOR_H_
#define BANYAN_DRAFTERS_HEADS_HEAD_DOCTOR_H_

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "core/base/token.h"
#include "core/model/model.h"

namespace banyan {

inline constexpr int kDoctorSteps = 4;

// One way to read the files. By step: the mean acceptance rate, sum(min(p, q)),
// and the share of places where both distributions have the same argmax.
struct Reading {
  std::string name;  // "as the files say"
  std::vector<double> overlap, same;
  std::string error;  // it cannot be read that way; the others are empty
};

struct Examination {
  std::string about;              // the layout, and what it reads of the target
  std::vector<Reading> readings;  // the first is as the files say
  int places = 0;                 // of the first step

  // The turned reading that is clearly better, and not weak; null if none is.
  const Reading* Better() const;
  // True if the head cannot be read as the files say, or is weak read so.
  bool IsWeak() const;
};

// Examines the head in `directory`. `texts` have three tokens at least.
// `progress` is told how many readings of all are done. Fails if the head does
// not fit the target, whichever way it is read, or if the target fails.
using ExamineHead = absl::StatusOr<Examination> (*)(
    const Model& target, const std::string& directory,
    const std::vector<std::vector<TokenId>>& texts,
    absl::FunctionRef<void(int done, int all)> progress);

// Describes the head in `directory` for a run: its layout, and which states of
// the target it reads, by what count. Fails if it does not fit the target.
using DescribeHead = absl::StatusOr<std::string> (*)(
    const Model& target, const std::string& directory);

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_HEADS_HEAD_DOCTOR_H_
