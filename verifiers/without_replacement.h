// Multi-round verification of draws without replacement (Sequoia).
#ifndef BANYAN_VERIFIERS_WITHOUT_REPLACEMENT_H_
#define BANYAN_VERIFIERS_WITHOUT_REPLACEMENT_H_

#include <memory>

#include "absl/status/statusor.h"
#include "core/base/params.h"
#include "verifiers/verifier.h"

namespace banyan {

// No keys.
absl::StatusOr<std::unique_ptr<Verifier>> BuildWithoutReplacement(
    ParamsReader& in);

}  // namespace banyan

#endif  // BANYAN_VERIFIERS_WITHOUT_REPLACEMENT_H_
