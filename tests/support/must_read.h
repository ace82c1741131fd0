// Rows of scores that must be readable; the program ends where one is not.
#ifndef BANYAN_TESTS_SUPPORT_MUST_READ_H_
#define BANYAN_TESTS_SUPPORT_MUST_READ_H_

#include <cstddef>
#include <vector>

#include "core/base/check.h"
#include "core/base/common.h"
#include "core/model/model.h"

namespace banyan {

inline std::vector<double> MustRead(const Scores& scores, int row) {
  std::vector<double> logits;
  const absl::Status status = scores.Read(row, logits);
  Check(status.ok(), status.message());
  return logits;
}

inline std::vector<float> MustReadHidden(const Scores& scores, int tap, int row,
                                         int size) {
  std::vector<float> state(static_cast<std::size_t>(size));
  const absl::Status status =
      scores.ReadHidden(tap, row, absl::MakeSpan(state));
  Check(status.ok(), status.message());
  return state;
}

}  // namespace banyan

#endif  // BANYAN_TESTS_SUPPORT_MUST_READ_H_
