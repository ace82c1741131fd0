#include "tests/support/growing.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "configs/loader/loader.h"
#include "core/base/check.h"
#include "core/random/random_source.h"
#include "core/random/seeded_source.h"
#include "drafters/drafter.h"
#include "drafters/grow.h"
#include "tests/conformance/pairing.h"
#include "tree/growing_tree.h"
#include "tree/policies/catalogue.h"
#include "tree/tree_policy.h"

namespace banyan {

std::unique_ptr<TreePolicy> PolicyOf(const std::string& spec) {
  absl::StatusOr<PolicyChoice> choice =
      BuildPolicy(ParseYaml(Section(spec), spec).value());
  Check(choice.ok(), choice.status().message());
  return std::move(choice->policy);
}

absl::StatusOr<GrowingTree> TryGrow(Drafter& drafter, const TreePolicy& policy,
                                    const GrowOptions& options) {
  SeededSource random(options.seed);
  const Chance chance(random, options.context.prompt, options.context.round);
  return Grow({drafter, policy, options.law, options.trunk}, options.context,
              options.limits, chance);
}

GrowingTree MustGrow(Drafter& drafter, const TreePolicy& policy,
                     const GrowOptions& options) {
  absl::StatusOr<GrowingTree> tree = TryGrow(drafter, policy, options);
  Check(tree.ok(), tree.status().message());
  return *std::move(tree);
}

}  // namespace banyan
