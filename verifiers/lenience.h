// Lenient acceptance (Leviathan et al., appendix). Lossy.
#ifndef BANYAN_VERIFIERS_LENIENCE_H_
#define BANYAN_VERIFIERS_LENIENCE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "core/base/params.h"
#include "verifiers/verifier.h"

namespace banyan {

// Keys: `lenience` in (0, 1], `form` (sampling or argmax).
absl::StatusOr<std::unique_ptr<Verifier>> BuildLenience(ParamsReader& in);

}  // namespace banyan

#endif  // BANYAN_VERIFIERS_LENIENCE_H_
