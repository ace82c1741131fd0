#include "experiments/plan/experiment.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "core/base/params.h"
#include "core/prob/sampling_rule.h"

namespace banyan {

double TemperatureOf(const ExperimentCell& cell) {
  const absl::StatusOr<SamplingRule> rule =
      SamplingRule::FromParams(Params::Map(cell.sampling));
  return rule.ok() ? rule->options().temperature : 1;
}

std::string CellName(
    const std::string& method,
    const std::vector<std::pair<std::string, std::string>>& axes) {
  std::string name = method;
  for (const auto& [axis, label] : axes)
    absl::StrAppend(&name, ", ", axis, "=", label);
  return name;
}

}  // namespace banyan
