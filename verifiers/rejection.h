// Rejection sampling on a chain.
#ifndef BANYAN_VERIFIERS_REJECTION_H_
#define BANYAN_VERIFIERS_REJECTION_H_

#include <memory>

#include "absl/status/statusor.h"
#include "core/base/params.h"
#include "verifiers/verifier.h"

namespace banyan {

// No keys.
absl::StatusOr<std::unique_ptr<Verifier>> BuildRejection(ParamsReader& in);

}  // namespace banyan

#endif  // BANYAN_VERIFIERS_REJECTION_H_
