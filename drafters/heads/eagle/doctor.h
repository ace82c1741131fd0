// EAGLE heads as `banyan doctor` asks for them (drafters/heads/head_doctor.h).
#ifndef BANYAN_DRAFTERS_HEADS_EAGLE_DOCTOR_H_
#define BANYAN_DRAFTERS_HEADS_EAGLE_DOCTOR_H_

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "core/base/token.h"
#include "core/model/model.h"
#include "drafters/heads/head_doctor.h"

namespace banyan {

// The assumptions are those of drafters/heads/eagle/turns.h.
absl::StatusOr<Examination> ExamineEagle(
    const Model& target, const std::string& directory,
    const std::vector<std::vector<TokenId>>& texts,
    absl::FunctionRef<void(int done, int all)> progress);
absl::StatusOr<std::string> DescribeEagle(const Model& target,
                                          const std::string& directory);

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_HEADS_EAGLE_DOCTOR_H_
