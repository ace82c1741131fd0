// Reads method files, and what exact files have in common with them: drafters,
// policy, trunks, nodes, verifier, sampling and scoring. docs/formats.md
// describes the keys.
//
//   ParamsReader in(file, "exact file");
//   ... keys of its own ...
//   const MethodKeys keys = TakeMethodKeys(in);
//   BANYAN_RETURN_IF_ERROR(in.Finish());
//   BANYAN_ASSIGN_OR_RETURN(const MethodSpec method, ReadMethod(keys));
#ifndef BANYAN_EXPERIMENTS_PLAN_READ_METHOD_H_
#define BANYAN_EXPERIMENTS_PLAN_READ_METHOD_H_

#include <string>

#include "absl/status/statusor.h"
#include "core/base/messages.h"
#include "core/base/params.h"
#include "experiments/plan/method_spec.h"

namespace banyan {

// Taken and not yet understood. Points into the file's Params, which must
// outlive it.
struct MethodKeys {
  const Params* file = nullptr;
  std::string what;  // "exact file"
  const Params* policy = nullptr;
  const Params* trunks = nullptr;
  const Params* nodes = nullptr;
  MethodSpec method;  // without trunks
};

// Errors are kept by the reader: Finish() gives them.
MethodKeys TakeMethodKeys(ParamsReader& in);
// The key `rounds`, if it is there.
void TakeRounds(ParamsReader& in, std::optional<RoundsOn>& rounds);

// Adds the trunks: those listed, or else one for each drafter with the file's
// policy. `nodes` says how many tokens they draft in all: the trunks share them
// evenly, at least one each, in the place of what else their policies say of
// their shape. Fails on a drafter that no trunk uses, on a policy that `nodes`
// does not size, and on trunks without a policy.
absl::StatusOr<MethodSpec> ReadMethod(const MethodKeys& keys);

// A method file. What is wrong with it is in the method's `errors`.
MethodSpec ReadMethodSpec(const Params& file);

// An entry of `models`.
absl::StatusOr<NamedModel> ReadNamedModel(const Params::Entry& entry);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_PLAN_READ_METHOD_H_
