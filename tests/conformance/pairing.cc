#include "tests/conformance/pairing.h"

#include <utility>

#include "configs/loader/yaml.h"
#include "core/base/params.h"
#include "drafters/small_models/small_model/small_model.h"
#include "verifiers/catalogue.h"
#include "verifiers/verifier.h"

namespace banyan {
namespace {

absl::StatusOr<Trunk> BuildTrunk(const PairedTrunk& spec,
                                 const Method& method) {
  std::string policy = Section(spec.policy);
  if (spec.draw_kind.has_value()) {
    policy.pop_back();
    absl::StrAppend(&policy, ", draws: ", Name(*spec.draw_kind), "}");
  }
  BANYAN_ASSIGN_OR_RETURN(const Params section, ParseYaml(policy, spec.policy));
  return MakeTrunk("small_model",
                   std::make_unique<SmallModel>(spec.model, method.rule),
                   section, method);
}

}  // namespace

std::string Section(const std::string& spec) {
  const auto space = spec.find(' ');
  const std::string name = spec.substr(0, space);
  if (space == std::string::npos) return absl::StrCat("{name: ", name, "}");
  const std::string keys = spec.substr(space + 1);
  if (keys == "{}") return absl::StrCat("{name: ", name, "}");
  return absl::StrCat("{name: ", name, ", ", keys.substr(1));
}

std::vector<std::string> VerifierSpecs() {
  std::vector<std::string> specs;
  for (const VerifierRow& row : VerifierCatalogue()) {
    specs.emplace_back(row.name);
    for (absl::string_view variant : row.variants)
      specs.push_back(absl::StrCat(row.name, " ", variant));
  }
  return specs;
}

absl::StatusOr<Decoder> Build(const Pairing& pairing) {
  BANYAN_ASSIGN_OR_RETURN(const Params section,
                          ParseYaml(Section(pairing.verifier), "verifier"));
  BANYAN_ASSIGN_OR_RETURN(std::unique_ptr<Verifier> verifier,
                          BuildVerifier(section));
  return BuildWith(pairing, std::move(verifier));
}

absl::StatusOr<Decoder> BuildWith(const Pairing& pairing,
                                  std::unique_ptr<Verifier> verifier) {
  Method method = {.verifier_name = pairing.verifier,
                   .verifier = std::move(verifier),
                   .rule = SamplingRule(pairing.sampling)};
  for (const PairedTrunk& spec : pairing.trunks) {
    BANYAN_ASSIGN_OR_RETURN(Trunk trunk, BuildTrunk(spec, method));
    method.trunks.push_back(std::move(trunk));
  }
  return Decoder::Create(*pairing.target, std::move(method));
}

bool IsRefusal(const absl::Status& status) {
  return status.code() == absl::StatusCode::kFailedPrecondition;
}

std::string Describe(const Pairing& pairing) {
  std::string text = pairing.verifier;
  for (const PairedTrunk& spec : pairing.trunks) {
    absl::StrAppend(&text, " + ", spec.policy);
    if (spec.draw_kind.has_value())
      absl::StrAppend(&text, " ", Name(*spec.draw_kind));
  }
  if (pairing.sampling.temperature != 1)
    absl::StrAppend(&text, ", temperature ", pairing.sampling.temperature);
  return text;
}

}  // namespace banyan
