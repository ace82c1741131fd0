// Speculative sampling on a chain, token by token.
#ifndef BANYAN_VERIFIERS_LEVIATHAN_H_
#define BANYAN_VERIFIERS_LEVIATHAN_H_

#include <memory>

#include "absl/status/statusor.h"
#include "core/base/params.h"
#include "verifiers/verifier.h"

namespace banyan {

// No keys.
absl::StatusOr<std::unique_ptr<Verifier>> BuildLeviathan(ParamsReader& in);

}  // namespace banyan

#endif  // BANYAN_VERIFIERS_LEVIATHAN_H_
