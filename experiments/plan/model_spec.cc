#include "experiments/plan/model_spec.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/byte_size.h"
#include "core/base/params.h"
#include "core/base/weight_format.h"

namespace banyan {

bool IsWeightsName(absl::string_view name) {
  return name == "auto" || FindFormat(name).has_value();
}

std::string StatedWeights(const ModelSpec& spec) {
  return FindFormat(spec.weights).has_value() ? spec.weights : std::string();
}

ModelSpec TakeModelSpec(ParamsReader& in) {
  ModelSpec spec;
  Params directory;
  in.Required("directory", directory);
  in.Note(Convert(directory, spec.directory));
  spec.directory = Beside(directory, spec.directory);
  in.Optional("weights", spec.weights);
  in.Ensure(IsWeightsName(spec.weights), "weights",
            absl::StrCat("must be ", kWeightsNames));
  if (in.Optional("memory", spec.memory))
    in.Ensure(ParseByteSize(spec.memory).ok(), "memory",
              "must be a size such as 600MB or 1.5GB");
  return spec;
}

}  // namespace banyan
