#include "tests/support/drafting.h"

#include <utility>

#include "configs/loader/yaml.h"
#include "core/base/check.h"
#include "core/random/random_source.h"
#include "tests/conformance/pairing.h"
#include "tests/support/draft_trunk.h"
#include "tree/policies/catalogue.h"

namespace banyan {

std::unique_ptr<TreePolicy> PolicyOf(const std::string& spec) {
  absl::StatusOr<PolicyChoice> choice =
      BuildPolicy(ParseYaml(Section(spec), spec).value());
  Check(choice.ok(), choice.status().message());
  return std::move(choice->policy);
}

namespace {

absl::StatusOr<TrunkTree> Draft(Drafter& drafter, DraftSession& session,
                                const TreePolicy& policy,
                                const DraftOptions& options) {
  SeededSource random(options.seed);
  const Chance chance(random, options.context.prompt, options.context.round);
  return DraftTrunk(
      {drafter, session, policy, options.draw_kind, options.trunk},
      options.context, options.limits, chance);
}

TrunkTree Must(absl::StatusOr<TrunkTree> tree) {
  Check(tree.ok(), tree.status().message());
  return *std::move(tree);
}

}  // namespace

absl::StatusOr<TrunkTree> TryDraft(Solo& drafter, const TreePolicy& policy,
                                   const DraftOptions& options) {
  return Draft(drafter.drafter(), drafter.session(), policy, options);
}

TrunkTree MustDraft(Solo& drafter, const TreePolicy& policy,
                    const DraftOptions& options) {
  return Must(TryDraft(drafter, policy, options));
}

TrunkTree MustDraft(Drafter& drafter, const TreePolicy& policy,
                    const DraftOptions& options) {
  const std::unique_ptr<DraftSession> session = drafter.NewSession();
  return Must(Draft(drafter, *session, policy, options));
}

}  // namespace banyan
