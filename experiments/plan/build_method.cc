#include "experiments/plan/build_method.h"

#include <utility>

#include "core/base/params.h"
#include "tree/draft_tree.h"
#include "verifiers/catalogue.h"

namespace banyan {

absl::StatusOr<SamplingRule> ReadSampling(const MethodSpec& spec) {
  if (spec.sampling.kind() == Params::Kind::kNull) return SamplingRule();
  return SamplingRule::FromParams(spec.sampling);
}

absl::StatusOr<Method> StartMethod(const MethodSpec& spec, SamplingRule rule) {
  Method method;
  method.rule = std::move(rule);
  BANYAN_ASSIGN_OR_RETURN(method.verifier, BuildVerifier(spec.verifier));
  method.verifier_name = PartName(spec.verifier);
  method.scoring = spec.scoring;
  method.rounds = spec.rounds.value_or(RoundsOn::kAuto);
  return method;
}

absl::Status AddTrunks(const MethodSpec& spec, MakeDrafter make,
                       Method& method) {
  for (const TrunkSpec& trunk : spec.trunks) {
    BANYAN_ASSIGN_OR_RETURN(NamedDrafter made, make(trunk.drafter));
    BANYAN_ASSIGN_OR_RETURN(method.trunks.emplace_back(),
                            MakeTrunk(made.name, std::move(made.drafter),
                                      trunk.policy.section(), method));
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

JsonValue TrunksToJson(const Method& method) {
  JsonValue trunks = JsonValue::List();
  for (const Trunk& trunk : method.trunks)
    trunks.Add({{"drafter", trunk.drafter_name},
                {"policy", trunk.policy_name},
                {"draws", std::string(Name(trunk.draw_kind))}});
  return trunks;
}

}  // namespace banyan
