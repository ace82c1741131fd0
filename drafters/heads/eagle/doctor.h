// EAGLE heads as `banyan doctor` asks for them (drafters/head_tools.h).
#ifndef BANYAN_DRAFTERS_HEADS_EAGLE_DOCTOR_H_
#define BANYAN_DRAFTERS_HEADS_EAGLE_DOCTOR_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "core/base/token.h"
#include "core/model/model.h"
#include "drafters/head_tools.h"
#include "drafters/heads/eagle/layouts.h"

namespace banyan {

// What may be wrong with how a head's files are read: each assumption turned
// into its other, for `banyan doctor`.
struct EagleTurn {
  std::string name;  // "the states one layer later"
  std::function<void(EagleSpec& spec)> turn;
  // Pairs have the token of the states' own place, not the one after it.
  bool same_token = false;
  // So much further than the pairs that they follow stand the drafted ones.
  int drafted_shift = 0;
};

// Those that such a head, read as its files say, can be turned by; `layers` and
// `theta` are the target's, the latter 0 if it has no rotary positions.
std::vector<EagleTurn> TurnsOf(const EagleSpec& spec, int layers, double theta);

// The assumptions are those of TurnsOf().
absl::StatusOr<Examination> ExamineEagle(
    const Model& target, const std::string& directory,
    const std::vector<std::vector<TokenId>>& texts,
    absl::FunctionRef<void(int done, int all)> progress);
absl::StatusOr<std::string> DescribeEagle(const Model& target,
                                          const std::string& directory);

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_HEADS_EAGLE_DOCTOR_H_
