#include "experiments/plan/method_sections.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/catalogue.h"
#include "core/base/clock.h"
#include "core/base/nearest.h"
#include "core/base/params.h"
#include "core/base/status_macros.h"
#include "core/model/model.h"
#include "core/prob/sampling_rule.h"
#include "decode/decoder.h"
#include "decode/method.h"
#include "experiments/plan/params_edit.h"
#include "tree/policies/catalogue.h"
#include "tree/policies/row.h"
#include "verifiers/catalogue.h"
#include "verifiers/row.h"

namespace banyan {
namespace {

// Which drafter a trunk uses, and its policy section.
struct TrunkSection {
  int drafter = 0;
  const Params* policy = nullptr;
};

absl::StatusOr<TrunkSection> ReadTrunk(const MethodSections& sections,
                                       const Params& item, std::size_t number) {
  ParamsReader in(item, absl::StrCat("trunk ", number));
  TrunkSection trunk;
  in.Required("drafter", trunk.drafter);
  in.Ensure(trunk.drafter >= 0 && static_cast<std::size_t>(trunk.drafter) <
                                      sections.drafters.size(),
            "drafter",
            absl::StrCat("must number one of the ", sections.drafters.size(),
                         " drafters, from 0"));
  trunk.policy = in.Take("policy");
  BANYAN_RETURN_IF_ERROR(in.Finish());
  if (trunk.policy == nullptr) trunk.policy = sections.policy;
  if (trunk.policy == nullptr)
    return item.Error("trunk: missing key 'policy', and the file has none");
  return trunk;
}

absl::Status CheckEveryDrafterIsUsed(const MethodSections& sections,
                                     const std::vector<TrunkSection>& trunks) {
  for (std::size_t i = 0; i < sections.drafters.size(); ++i) {
    const bool used = std::any_of(
        trunks.begin(), trunks.end(), [&](const TrunkSection& trunk) {
          return static_cast<std::size_t>(trunk.drafter) == i;
        });
    if (!used)
      return sections.drafters[i].Error(absl::StrCat(
          sections.what, ": no trunk uses drafter ", i, " (from 0)"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<TrunkSection>> ReadTrunks(
    const MethodSections& sections) {
  const Params* policy = sections.policy;
  std::vector<TrunkSection> result;
  if (sections.trunks == nullptr) {
    if (policy == nullptr && !sections.drafters.empty())
      return sections.file->Error(
          absl::StrCat(sections.what, ": missing key 'policy' (or 'trunks')"));
    if (policy != nullptr && sections.drafters.empty())
      return policy->Error(
          absl::StrCat(sections.what, ": a policy needs 'drafters'"));
    for (std::size_t i = 0; i < sections.drafters.size(); ++i)
      result.push_back({static_cast<int>(i), policy});
    return result;
  }
  if (sections.trunks->kind() != Params::Kind::kList)
    return sections.trunks->Error("trunks: expected a list");
  for (const Params& item : sections.trunks->items()) {
    BANYAN_ASSIGN_OR_RETURN(const TrunkSection trunk,
                            ReadTrunk(sections, item, result.size()));
    result.push_back(trunk);
  }
  BANYAN_RETURN_IF_ERROR(CheckEveryDrafterIsUsed(sections, result));
  if (policy != nullptr && std::none_of(result.begin(), result.end(),
                                        [&](const TrunkSection& trunk) {
                                          return trunk.policy == policy;
                                        }))
    return policy->Error(
        absl::StrCat(sections.what,
                     ": every trunk has a policy of its own beside this one"));
  return result;
}

// What a policy knows of another kind of drafter says nothing of this one.
// An unknown verifier is a mistake in the file.
absl::Status CheckCalibration(const Params& policy,
                              const std::string& drafter) {
  const Params* calibration = policy.Find("calibration");
  if (calibration == nullptr) return absl::OkStatus();
  const Params* measured = calibration->Find("drafter");
  if (measured != nullptr && measured->text() != drafter)
    return policy.Error(absl::StrCat("a calibration of drafter ",
                                     measured->text(), " for drafter ",
                                     drafter));
  const Params* verifier = calibration->Find("verifier");
  if (verifier == nullptr) return absl::OkStatus();
  std::vector<absl::string_view> known;
  for (const VerifierRow& row : VerifierCatalogue()) known.push_back(row.name);
  if (absl::c_linear_search(known, verifier->text())) return absl::OkStatus();
  return verifier->Error(absl::StrCat(
      "calibration: ", UnknownName("verifier", verifier->text(), known)));
}

// The policy with this number of nodes.
absl::StatusOr<Params> SizedPolicy(const Params& policy, const Params& nodes) {
  BANYAN_ASSIGN_OR_RETURN(const PolicyRow* row,
                          FindRow(PolicyCatalogue(), "policy", policy));
  if (!row->sizes.nodes)
    return nodes.Error(absl::StrCat("policy ", row->name,
                                    " is not sized by a number of nodes"));
  Params sized = policy;
  for (const absl::string_view key : row->instead_of_nodes)
    sized = Without(sized, key);
  return WithValue(sized, "nodes", nodes);
}

// The number of nodes of trunk `number`, of `count`.
absl::StatusOr<Params> ShareOf(const Params& nodes, std::size_t number,
                               std::size_t count) {
  if (count == 1) return nodes;  // which may be `measured`
  int all = 0;
  BANYAN_RETURN_IF_ERROR(Convert(nodes, all));
  if (all < 0) return nodes.Error("nodes: must not be negative");
  const auto total = static_cast<std::size_t>(all);
  const std::size_t share = total / count + (number < total % count ? 1 : 0);
  return Params::Scalar(absl::StrCat(std::max<std::size_t>(share, 1)),
                        nodes.origin());
}

// The trunks' sections: those listed, or else one for each drafter.
std::vector<Params> TrunksOf(const Params& method) {
  if (const Params* listed = method.Find("trunks"))
    return {listed->items().begin(), listed->items().end()};
  std::vector<Params> trunks;
  const Params* drafters = method.Find("drafters");
  const std::size_t count = drafters == nullptr ? 0 : drafters->items().size();
  for (std::size_t i = 0; i < count; ++i)
    trunks.push_back(Params::Map(
        {{"drafter", {}, Params::Scalar(absl::StrCat(i))}}, method.origin()));
  return trunks;
}

}  // namespace

absl::StatusOr<Params> WithNodes(const Params& method) {
  const Params* nodes = method.Find("nodes");
  if (nodes == nullptr) return method;
  Params sized = Without(method, "nodes");
  const Params* own = method.Find("policy");
  std::vector<Params> trunks = TrunksOf(method);
  if (trunks.empty())
    return nodes->Error("nodes: the method has no drafter to draft them");
  for (std::size_t i = 0; i < trunks.size(); ++i) {
    const Params* policy = trunks[i].Find("policy");
    if (policy == nullptr) policy = own;
    if (policy == nullptr) return sized;  // which the method will say
    BANYAN_ASSIGN_OR_RETURN(const Params share,
                            ShareOf(*nodes, i, trunks.size()));
    BANYAN_ASSIGN_OR_RETURN(const Params with, SizedPolicy(*policy, share));
    BANYAN_ASSIGN_OR_RETURN(trunks[i], WithValue(trunks[i], "policy", with));
  }
  if (trunks.size() == 1 && method.Find("trunks") == nullptr)
    return WithValue(sized, "policy", *trunks.front().Find("policy"));
  return WithValue(Without(sized, "policy"), "trunks",
                   Params::List(std::move(trunks), method.origin()));
}

MethodSections TakeMethodSections(ParamsReader& in) {
  MethodSections sections;
  sections.file = &in.section();
  sections.what = in.what();
  in.Optional("drafters", sections.drafters);
  sections.policy = in.Take("policy");
  sections.trunks = in.Take("trunks");
  in.Required("verifier", sections.verifier);
  sections.sampling = in.Take("sampling");
  std::string scoring(Name(sections.scoring));
  in.Optional("score", scoring);
  if (scoring == Name(Scoring::kUnmerged))
    sections.scoring = Scoring::kUnmerged;
  in.Ensure(scoring == Name(sections.scoring), "score",
            "must be merged or unmerged");
  return sections;
}

std::vector<const Params*> PolicySections(const MethodSections& sections) {
  std::vector<const Params*> policies;
  if (sections.policy != nullptr) policies.push_back(sections.policy);
  if (sections.trunks == nullptr) return policies;
  for (const Params& trunk : sections.trunks->items())
    if (const Params* own = trunk.Find("policy")) policies.push_back(own);
  return policies;
}

absl::StatusOr<SamplingRule> ReadSampling(const MethodSections& sections) {
  if (sections.sampling == nullptr) return SamplingRule();
  return SamplingRule::FromParams(*sections.sampling);
}

absl::StatusOr<Method> StartMethod(const MethodSections& sections,
                                   SamplingRule rule) {
  Method method;
  method.rule = std::move(rule);
  BANYAN_ASSIGN_OR_RETURN(method.verifier, BuildVerifier(sections.verifier));
  method.verifier_name = sections.verifier.Find("name")->text();
  method.scoring = sections.scoring;
  return method;
}

absl::Status AddTrunks(const MethodSections& sections, MakeDrafter make,
                       Method& method) {
  BANYAN_ASSIGN_OR_RETURN(const std::vector<TrunkSection> trunks,
                          ReadTrunks(sections));
  for (const TrunkSection& section : trunks) {
    BANYAN_ASSIGN_OR_RETURN(NamedDrafter made, make(section.drafter));
    BANYAN_RETURN_IF_ERROR(CheckCalibration(*section.policy, made.name));
    BANYAN_ASSIGN_OR_RETURN(
        Trunk trunk,
        MakeTrunk(made.name, std::move(made.drafter), *section.policy, method));
    method.trunks.push_back(std::move(trunk));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Decoder>> MakeDecoder(
    const MethodSections& sections, const Model& target, Method method,
    std::shared_ptr<const Clock> clock) {
  absl::StatusOr<Decoder> decoder =
      Decoder::Create(target, std::move(method), std::move(clock));
  if (!decoder.ok())
    return ErrorAt(sections.verifier.origin(), decoder.status());
  return std::make_unique<Decoder>(*std::move(decoder));
}

}  // namespace banyan
