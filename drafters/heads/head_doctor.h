// Whether a head's files are read as they were meant: what a drafter's folder
// says of its heads so that `banyan doctor` need not know the drafter. The
// drafter's row of the catalogue points to the function that says it.
//
// On texts, at every place, the head's law of the next token but one is held
// against the target's, given the true tokens: at the first step after the
// target's own states, at each further step after what came out before. That is
// done as the files say and with each assumption turned.
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

// One way to read the files. By step: the mean of sum(min(p, q)), the share of
// places where both laws have the same largest mass.
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
  // The head says little even so.
  bool IsWeak() const;
};

// Of the head in `directory`. `texts` have three tokens at least. `progress` is
// told how many readings of all are done. Fails if the head is none of such a
// target, whichever way it is read, or if the target fails.
using ExamineHead = absl::StatusOr<Examination> (*)(
    const Model& target, const std::string& directory,
    const std::vector<std::vector<TokenId>>& texts,
    absl::FunctionRef<void(int done, int all)> progress);

// What a run tells of the head in `directory`: its layout, and which states of
// the target it reads, by what count. Fails if it is none of such a target.
using DescribeHead = absl::StatusOr<std::string> (*)(
    const Model& target, const std::string& directory);

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_HEADS_HEAD_DOCTOR_H_
