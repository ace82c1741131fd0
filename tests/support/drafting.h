// Policies grown in one call.
#ifndef BANYAN_TESTS_SUPPORT_DRAFTING_H_
#define BANYAN_TESTS_SUPPORT_DRAFTING_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "core/model/context.h"
#include "drafters/drafter.h"
#include "drafters/drafting.h"
#include "tests/support/shared_models.h"
#include "tests/support/solo.h"
#include "tree/draft_tree.h"
#include "tree/tree_policy.h"
#include "tree/trunk_tree.h"

namespace banyan {

// The policy of "chain {nodes: 2}". A malformed one ends the program.
std::unique_ptr<TreePolicy> PolicyOf(const std::string& spec);

struct DraftOptions {
  DrawKind draw_kind = DrawKind::kIndependent;
  DraftLimits limits = {.max_depth = 100};
  std::uint64_t seed = 0;
  Context context = ContextOf({0});
  int trunk = 0;
};
absl::StatusOr<TrunkTree> TryDraft(Solo& drafter, const TreePolicy& policy,
                                   const DraftOptions& options = {});
// A failure ends the program.
TrunkTree MustDraft(Solo& drafter, const TreePolicy& policy,
                    const DraftOptions& options = {});
// By a new session.
TrunkTree MustDraft(Drafter& drafter, const TreePolicy& policy,
                    const DraftOptions& options = {});

}  // namespace banyan

#endif  // BANYAN_TESTS_SUPPORT_DRAFTING_H_
