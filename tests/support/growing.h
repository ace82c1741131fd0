// Policies grown in one call.
#ifndef BANYAN_TESTS_SUPPORT_GROWING_H_
#define BANYAN_TESTS_SUPPORT_GROWING_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "core/model/context.h"
#include "drafters/drafter.h"
#include "drafters/grow.h"
#include "tests/support/models.h"
#include "tree/draft_tree.h"
#include "tree/growing_tree.h"
#include "tree/tree_policy.h"

namespace banyan {

// The policy of "chain {gamma: 2}". A malformed one ends the program.
std::unique_ptr<TreePolicy> PolicyOf(const std::string& spec);

struct GrowOptions {
  DraftLaw law = DraftLaw::kIndependent;
  GrowLimits limits = {.max_depth = 100};
  std::uint64_t seed = 0;
  Context context = ContextOf({0});
  int trunk = 0;
};
absl::StatusOr<GrowingTree> TryGrow(Drafter& drafter, const TreePolicy& policy,
                                    const GrowOptions& options = {});
// A failure ends the program.
GrowingTree MustGrow(Drafter& drafter, const TreePolicy& policy,
                     const GrowOptions& options = {});

}  // namespace banyan

#endif  // BANYAN_TESTS_SUPPORT_GROWING_H_
