// Multi-round speculative sampling on a tree (SpecInfer).
#ifndef BANYAN_VERIFIERS_MULTI_ROUND_H_
#define BANYAN_VERIFIERS_MULTI_ROUND_H_

#include <memory>

#include "absl/status/statusor.h"
#include "core/base/params.h"
#include "verifiers/verifier.h"

namespace banyan {

// Keys: `order`, drawn or shuffled (no draws without replacement).
absl::StatusOr<std::unique_ptr<Verifier>> BuildMultiRound(ParamsReader& in);

}  // namespace banyan

#endif  // BANYAN_VERIFIERS_MULTI_ROUND_H_
