// The lossy rules of blockwise parallel decoding. (The lossless one is greedy.)
#ifndef BANYAN_VERIFIERS_BLOCKWISE_H_
#define BANYAN_VERIFIERS_BLOCKWISE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "core/base/params.h"
#include "verifiers/verifier.h"

namespace banyan {

// Keys: `k`, `next` (sampled or argmax). By default a token of the best two.
absl::StatusOr<std::unique_ptr<Verifier>> BuildBlockwiseTopK(ParamsReader& in);

// Keys: `epsilon`, in token ids, `next` (sampled or argmax). By default the
// best token and its neighbours.
absl::StatusOr<std::unique_ptr<Verifier>> BuildBlockwiseDistance(
    ParamsReader& in);

}  // namespace banyan

#endif  // BANYAN_VERIFIERS_BLOCKWISE_H_
