#include "experiments/plan/build_method.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/clock.h"
#include "core/base/nearest.h"
#include "core/base/params.h"
#include "core/base/status_macros.h"
#include "core/model/model.h"
#include "core/prob/sampling_rule.h"
#include "decode/decoder.h"
#include "decode/method.h"
#include "experiments/plan/method_spec.h"
#include "verifiers/catalogue.h"
#include "verifiers/row.h"

namespace banyan {
namespace {

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

}  // namespace

absl::StatusOr<SamplingRule> ReadSampling(const MethodSpec& spec) {
  if (spec.sampling.kind() == Params::Kind::kNull) return SamplingRule();
  return SamplingRule::FromParams(spec.sampling);
}

absl::StatusOr<Method> StartMethod(const MethodSpec& spec, SamplingRule rule) {
  Method method;
  method.rule = std::move(rule);
  BANYAN_ASSIGN_OR_RETURN(method.verifier, BuildVerifier(spec.verifier));
  method.verifier_name = spec.verifier.Find("name")->text();
  method.scoring = spec.scoring;
  return method;
}

absl::Status AddTrunks(const MethodSpec& spec, MakeDrafter make,
                       Method& method) {
  for (const TrunkSpec& trunk : spec.trunks) {
    BANYAN_ASSIGN_OR_RETURN(NamedDrafter made, make(trunk.drafter));
    const Params& policy = trunk.policy.section();
    BANYAN_RETURN_IF_ERROR(CheckCalibration(policy, made.name));
    BANYAN_ASSIGN_OR_RETURN(
        method.trunks.emplace_back(),
        MakeTrunk(made.name, std::move(made.drafter), policy, method));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Decoder>> MakeDecoder(
    const MethodSpec& spec, const Model& target, Method method,
    std::shared_ptr<const Clock> clock) {
  absl::StatusOr<Decoder> decoder =
      Decoder::Create(target, std::move(method), std::move(clock));
  if (!decoder.ok()) return ErrorAt(spec.verifier.origin(), decoder.status());
  return std::make_unique<Decoder>(*std::move(decoder));
}

}  // namespace banyan
