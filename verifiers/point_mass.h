// Point-mass verification: every candidate judged as a certainty.
#ifndef BANYAN_VERIFIERS_POINT_MASS_H_
#define BANYAN_VERIFIERS_POINT_MASS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "core/base/params.h"
#include "verifiers/verifier.h"

namespace banyan {

// No keys.
absl::StatusOr<std::unique_ptr<Verifier>> BuildPointMass(ParamsReader& in);

}  // namespace banyan

#endif  // BANYAN_VERIFIERS_POINT_MASS_H_
