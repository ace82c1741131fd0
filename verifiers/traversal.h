// Traversal verification: a tree judged from its leaves.
#ifndef BANYAN_VERIFIERS_TRAVERSAL_H_
#define BANYAN_VERIFIERS_TRAVERSAL_H_

#include <memory>

#include "absl/status/statusor.h"
#include "core/base/params.h"
#include "verifiers/verifier.h"

namespace banyan {

// No keys.
absl::StatusOr<std::unique_ptr<Verifier>> BuildTraversal(ParamsReader& in);

}  // namespace banyan

#endif  // BANYAN_VERIFIERS_TRAVERSAL_H_
