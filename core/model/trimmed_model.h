// A model with logits for some tokens alone (FR-Spec, arXiv:2502.14856).
#ifndef BANYAN_CORE_MODEL_TRIMMED_MODEL_H_
#define BANYAN_CORE_MODEL_TRIMMED_MODEL_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/token.h"
#include "core/model/model.h"

namespace banyan {

// Returns Trimmable::WithOutputs or, where a model is not trimmable or that is
// Unimplemented, a wrapper that computes all logits and keeps those of
// `tokens`. Fails as WithOutputs.
absl::StatusOr<std::shared_ptr<const Model>> TrimOutputs(
    const std::shared_ptr<const Model>& model,
    const std::vector<TokenId>& tokens);

}  // namespace banyan

#endif  // BANYAN_CORE_MODEL_TRIMMED_MODEL_H_
