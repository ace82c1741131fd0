// MethodSpec: what a method file, or a method of an experiment, says. It is
// read once (read_method.h); whatever is decided for the method later is
// assigned here.
#ifndef BANYAN_EXPERIMENTS_PLAN_METHOD_SPEC_H_
#define BANYAN_EXPERIMENTS_PLAN_METHOD_SPEC_H_

#include <string>
#include <vector>

#include "core/base/errors.h"
#include "core/base/params.h"
#include "decode/method.h"
#include "experiments/plan/model_spec.h"
#include "experiments/plan/policy_spec.h"

namespace banyan {

// An entry of `models`: a model, or the folder of a drafter such as heads.
struct NamedModel {
  std::string name;
  Origin name_place;
  Origin section_place;
  // The key under which a drafter's folder stands; empty: it is a model.
  std::string folder_key;
  Params place;    // the path, as it was written
  ModelSpec spec;  // of a folder only the directory
};

struct TrunkSpec {
  int drafter = 0;  // its number in MethodSpec::drafters
  PolicySpec policy;
  bool has_own_policy = false;  // else it is the method's
};

struct MethodSpec {
  Origin place;
  std::vector<NamedModel> models;
  std::vector<Params> drafters;  // which their rows read
  std::vector<TrunkSpec> trunks;
  Params verifier;  // which its row reads
  Params sampling;  // which SamplingRule reads; null: the default
  std::string chat_template;
  Scoring scoring = Scoring::kMerged;
  // What is wrong with its sections: told with all else that is wrong with the
  // method. Without the right keys and models its drafters cannot be built.
  Errors errors;
  bool has_right_keys = true;
};

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_PLAN_METHOD_SPEC_H_
