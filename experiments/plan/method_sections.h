// Reads the sections that exact files and method files share: verifier,
// sampling, drafters, policy, trunks and scoring. docs/formats.md describes the
// keys.
//
//   ParamsReader in(file, "exact file");
//   ... keys of its own ...
//   MethodSections sections = TakeMethodSections(in);
//   BANYAN_RETURN_IF_ERROR(in.Finish());
//   BANYAN_ASSIGN_OR_RETURN(Method method, StartMethod(sections, rule));
//   BANYAN_RETURN_IF_ERROR(AddTrunks(sections, make_drafter, method));
//   BANYAN_ASSIGN_OR_RETURN(auto decoder,
//                           MakeDecoder(sections, target, std::move(method)));
#ifndef BANYAN_EXPERIMENTS_PLAN_METHOD_SECTIONS_H_
#define BANYAN_EXPERIMENTS_PLAN_METHOD_SECTIONS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/clock.h"
#include "core/base/params.h"
#include "core/model/model.h"
#include "core/prob/sampling_rule.h"
#include "decode/decoder.h"
#include "decode/method.h"
#include "drafters/drafter.h"

namespace banyan {

// Read and not yet understood. Points into the file's Params, which must
// outlive it.
struct MethodSections {
  const Params* file = nullptr;
  std::string what;  // "exact file"
  Params verifier;
  std::vector<Params> drafters;
  const Params* policy = nullptr;
  const Params* trunks = nullptr;
  const Params* sampling = nullptr;
  Scoring scoring = Scoring::kMerged;
};

// Errors are kept by the reader: Finish() gives them.
MethodSections TakeMethodSections(ParamsReader& in);

// The policy sections: the file's and the trunks' own.
std::vector<const Params*> PolicySections(const MethodSections& sections);

// The rule of the `sampling` section, the default without one.
absl::StatusOr<SamplingRule> ReadSampling(const MethodSections& sections);

// A method without trunks: the verifier, the rule, how trees are scored.
absl::StatusOr<Method> StartMethod(const MethodSections& sections,
                                   SamplingRule rule);

// A method of an experiment may say `nodes`: how many it drafts in all, which
// its trunks share evenly, at least one each. Returns the method with that
// number in its policies, in the place of what else they say of their shape.
// Fails where a policy has no such key.
absl::StatusOr<Params> WithNodes(const Params& method);

struct NamedDrafter {
  std::string name;  // in messages and reports
  std::unique_ptr<Drafter> drafter;
};

// Makes drafter `number` of the list; called once for each trunk that uses it.
using MakeDrafter = absl::FunctionRef<absl::StatusOr<NamedDrafter>(int number)>;

// Adds the trunks: those listed, or else one for each drafter with the file's
// policy. A drafter that no trunk uses is an error.
absl::Status AddTrunks(const MethodSections& sections, MakeDrafter make,
                       Method& method);

// Decoder::Create, whose errors are placed at the verifier.
absl::StatusOr<std::unique_ptr<Decoder>> MakeDecoder(
    const MethodSections& sections, const Model& target, Method method,
    std::shared_ptr<const Clock> clock = std::make_shared<SteadyClock>());

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_PLAN_METHOD_SECTIONS_H_
