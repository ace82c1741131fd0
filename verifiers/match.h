// Match verification: keep a drafted token if the target draws it too.
#ifndef BANYAN_VERIFIERS_MATCH_H_
#define BANYAN_VERIFIERS_MATCH_H_

#include <memory>

#include "absl/status/statusor.h"
#include "core/base/params.h"
#include "verifiers/verifier.h"

namespace banyan {

// No keys.
absl::StatusOr<std::unique_ptr<Verifier>> BuildMatch(ParamsReader& in);

}  // namespace banyan

#endif  // BANYAN_VERIFIERS_MATCH_H_
