#include "decode/method.h"

#include <algorithm>
#include <utility>

#include "tree/policies/catalogue.h"

namespace banyan {
namespace {

bool Has(const std::vector<DrawKind>& draw_kinds, DrawKind draw_kind) {
  return std::find(draw_kinds.begin(), draw_kinds.end(), draw_kind) !=
         draw_kinds.end();
}

std::string Names(const std::vector<DrawKind>& draw_kinds) {
  return absl::StrJoin(draw_kinds, ", ",
                       [](std::string* out, DrawKind draw_kind) {
                         absl::StrAppend(out, Name(draw_kind));
                       });
}

absl::Status Refuse(const Method& method, absl::string_view with,
                    absl::string_view why) {
  return absl::FailedPreconditionError(
      absl::StrCat("verifier ", method.verifier_name, " does not go with ",
                   with, ": ", why));
}

absl::Status CheckTrunk(const Method& method, const Trunk& trunk) {
  const VerifierTraits verifier = method.verifier->traits();
  const PolicyTraits policy = trunk.policy->traits();
  const std::string name = absl::StrCat("policy ", trunk.policy_name);
  const std::string law =
      absl::StrCat("the draws are ", Name(trunk.draw_kind), ", ");
  if (!Has(verifier.draw_kinds, trunk.draw_kind))
    return Refuse(method, name,
                  absl::StrCat(law, "it takes ", Names(verifier.draw_kinds)));
  if (!Has(policy.draw_kinds, trunk.draw_kind))
    return Refuse(
        method, name,
        absl::StrCat(law, "the policy grows by ", Names(policy.draw_kinds)));
  if (!trunk.drafter->Gives(trunk.draw_kind))
    return Refuse(method, absl::StrCat("drafter ", trunk.drafter_name),
                  absl::StrCat(law, "the drafter gives ",
                               Names(trunk.drafter->traits().draw_kinds)));
  if (verifier.chain && !policy.chain)
    return Refuse(
        method, name,
        "it takes chains, and the policy draws several tokens a node");
  if (verifier.fixed_counts && !policy.fixed_counts)
    return Refuse(method, name,
                  "it needs the number of draws at a node fixed before the "
                  "first, and the policy decides by what it drew");
  if (verifier.own_draws && policy.shares_draws)
    return Refuse(method, name,
                  "it needs draws of each node's own, and the policy shares "
                  "draws between nodes");
  return absl::OkStatus();
}

}  // namespace

absl::string_view Name(Scoring scoring) {
  return scoring == Scoring::kMerged ? "merged" : "unmerged";
}

absl::StatusOr<Trunk> MakeTrunk(const std::string& drafter_name,
                                std::unique_ptr<Drafter> drafter,
                                const Params& policy, const Method& method) {
  BANYAN_ASSIGN_OR_RETURN(PolicyChoice choice, BuildPolicy(policy));
  Trunk trunk = {.drafter_name = drafter_name,
                 .policy_name = PartName(policy),
                 .drafter = std::move(drafter),
                 .policy = std::move(choice.policy)};
  if (choice.draw_kind.has_value()) {
    trunk.draw_kind = *choice.draw_kind;
    return trunk;
  }
  absl::StatusOr<DrawKind> draw_kind = PreferredLaw(trunk, method);
  if (!draw_kind.ok()) return ErrorAt(policy.origin(), draw_kind.status());
  trunk.draw_kind = *draw_kind;
  return trunk;
}

absl::StatusOr<DrawKind> PreferredLaw(const Trunk& trunk,
                                      const Method& method) {
  std::vector<DrawKind> wanted = method.verifier->traits().draw_kinds;
  if (method.rule.greedy())
    std::stable_partition(wanted.begin(), wanted.end(), [](DrawKind draw_kind) {
      return draw_kind == DrawKind::kDeterministic;
    });
  const std::vector<DrawKind> grown = trunk.policy->traits().draw_kinds;
  for (DrawKind draw_kind : wanted)
    if (Has(grown, draw_kind) && trunk.drafter->Gives(draw_kind))
      return draw_kind;
  return absl::FailedPreconditionError(absl::StrCat(
      "verifier ", method.verifier_name, " takes ", Names(wanted), "; policy ",
      trunk.policy_name, " grows by ", Names(grown), "; drafter ",
      trunk.drafter_name, " gives ", Names(trunk.drafter->traits().draw_kinds),
      ": they have no draw kind in common"));
}

namespace {

// Policies of all drafters: all trunks have one, made for as many drafters.
absl::Status CheckOfMethod(const Method& method) {
  const auto of_method = [](const Trunk& trunk) {
    return trunk.policy->of_method() != nullptr;
  };
  const auto first =
      std::find_if(method.trunks.begin(), method.trunks.end(), of_method);
  if (first == method.trunks.end()) return absl::OkStatus();
  if (!std::all_of(method.trunks.begin(), method.trunks.end(), of_method))
    return absl::FailedPreconditionError(absl::StrCat(
        "policy ", first->policy_name,
        " shapes the tree of all drafters: state it as the method's `policy`, "
        "not as that of one trunk"));
  const int drafters = first->policy->traits().drafters;
  if (drafters != 0 && drafters != static_cast<int>(method.trunks.size()))
    return absl::FailedPreconditionError(absl::StrCat(
        "policy ", first->policy_name, " has acceptance and costs of ",
        Counted(drafters, "drafter"), ", the method has ",
        method.trunks.size()));
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckMethod(const Method& method) {
  const VerifierTraits traits = method.verifier->traits();
  if (traits.exactness == Exactness::kLosslessAtTemperatureZero &&
      !method.rule.greedy())
    return Refuse(method,
                  absl::StrCat("sampling at temperature ",
                               method.rule.options().temperature),
                  "it emits argmax tokens only; set temperature: 0, or use "
                  "verifier match");
  if (traits.one_list && method.trunks.size() > 1)
    return Refuse(method, absl::StrCat(method.trunks.size(), " trunks"),
                  "it takes the draws of one trunk");
  BANYAN_RETURN_IF_ERROR(CheckOfMethod(method));
  for (const Trunk& trunk : method.trunks)
    BANYAN_RETURN_IF_ERROR(CheckTrunk(method, trunk));
  return absl::OkStatus();
}

bool IsLossless(const Method& method) {
  switch (method.verifier->traits().exactness) {
    case Exactness::kLossless:
      return true;
    case Exactness::kLosslessAtTemperatureZero:
      return method.rule.greedy();
    case Exactness::kLossy:
      return false;
  }
  return false;
}

}  // namespace banyan
