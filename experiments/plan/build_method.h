// Builds what a MethodSpec says, for whoever makes its drafters.
//
//   BANYAN_ASSIGN_OR_RETURN(Method method, StartMethod(spec, rule));
//   BANYAN_RETURN_IF_ERROR(AddTrunks(spec, make_drafter, method));
//   BANYAN_ASSIGN_OR_RETURN(auto decoder,
//                           MakeDecoder(spec, target, std::move(method)));
#ifndef BANYAN_EXPERIMENTS_PLAN_BUILD_METHOD_H_
#define BANYAN_EXPERIMENTS_PLAN_BUILD_METHOD_H_

#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "core/base/clock.h"
#include "core/base/common.h"
#include "core/json/json_value.h"
#include "core/model/model.h"
#include "core/prob/sampling_rule.h"
#include "decode/decoder.h"
#include "decode/method.h"
#include "drafters/drafter.h"
#include "experiments/plan/method_spec.h"

namespace banyan {

// The rule of the `sampling` section, the default without one.
absl::StatusOr<SamplingRule> ReadSampling(const MethodSpec& spec);

// A method without trunks: the verifier, the rule, how trees are scored.
absl::StatusOr<Method> StartMethod(const MethodSpec& spec, SamplingRule rule);

struct NamedDrafter {
  std::string name;  // in messages and reports
  std::unique_ptr<Drafter> drafter;
};

// Makes drafter `number` of the list; called once for each trunk that uses it.
using MakeDrafter = absl::FunctionRef<absl::StatusOr<NamedDrafter>(int number)>;

absl::Status AddTrunks(const MethodSpec& spec, MakeDrafter make,
                       Method& method);

// Decoder::Create, whose errors are placed at the verifier.
absl::StatusOr<std::unique_ptr<Decoder>> MakeDecoder(
    const MethodSpec& spec, const Model& target, Method method,
    std::shared_ptr<const Clock> clock = std::make_shared<SteadyClock>());

// A method in JSON, as every command writes it.

// Returns a list: drafter, policy and draw kind of each trunk.
JsonValue TrunksToJson(const Method& method);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_PLAN_BUILD_METHOD_H_
