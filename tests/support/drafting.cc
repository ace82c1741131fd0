#include "tests/support/drafting.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "configs/loader/loader.h"
#include "core/base/check.h"
#include "core/random/random_source.h"
#include "core/random/seeded_source.h"
#include "drafters/drafter.h"
#include "drafters/drafting.h"
#include "tests/conformance/pairing.h"
#include "tree/policies/catalogue.h"
#include "tree/tree_policy.h"
#include "tree/trunk_tree.h"

namespace banyan {

std::unique_ptr<TreePolicy> PolicyOf(const std::string& spec) {
  absl::StatusOr<PolicyChoice> choice =
      BuildPolicy(ParseYaml(Section(spec), spec).value());
  Check(choice.ok(), choice.status().message());
  return std::move(choice->policy);
}

absl::StatusOr<TrunkTree> TryDraft(Drafter& drafter, const TreePolicy& policy,
                                   const DraftOptions& options) {
  SeededSource random(options.seed);
  const Chance chance(random, options.context.prompt, options.context.round);
  return DraftTrunk({drafter, policy, options.law, options.trunk},
                    options.context, options.limits, chance);
}

TrunkTree MustDraft(Drafter& drafter, const TreePolicy& policy,
                    const DraftOptions& options) {
  absl::StatusOr<TrunkTree> tree = TryDraft(drafter, policy, options);
  Check(tree.ok(), tree.status().message());
  return *std::move(tree);
}

}  // namespace banyan
