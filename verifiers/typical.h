// Typical acceptance (Medusa). Lossy.
#ifndef BANYAN_VERIFIERS_TYPICAL_H_
#define BANYAN_VERIFIERS_TYPICAL_H_

#include <memory>

#include "absl/status/statusor.h"
#include "core/base/params.h"
#include "verifiers/verifier.h"

namespace banyan {

// Keys: `epsilon`, `delta`, `next` (sampled or argmax).
absl::StatusOr<std::unique_ptr<Verifier>> BuildTypical(ParamsReader& in);

}  // namespace banyan

#endif  // BANYAN_VERIFIERS_TYPICAL_H_
