#include "experiments/experiment/axes.h"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/params.h"
#include "core/base/status_macros.h"
#include "experiments/experiment/params_edit.h"

namespace banyan {
namespace {

// "chain" of "methods.chain.policy.gamma"; empty for any other path.
std::string MethodOf(absl::string_view path) {
  constexpr absl::string_view kMethods = "methods.";
  if (path.substr(0, kMethods.size()) != kMethods) return "";
  path.remove_prefix(kMethods.size());
  return std::string(path.substr(0, path.find('.')));
}

std::string LabelOf(const Params& value) {
  std::string text = ToYaml(value);
  text.pop_back();  // the line's end
  return value.kind() == Params::Kind::kScalar ? value.text() : text;
}

absl::StatusOr<std::vector<AxisValue>> ReadValues(const Params::Entry& axis) {
  std::vector<AxisValue> values;
  const Params& value = axis.value;
  if (value.kind() == Params::Kind::kList) {
    for (const Params& item : value.items())
      values.push_back({LabelOf(item), {{axis.key, item}}});
  } else if (value.kind() == Params::Kind::kMap) {
    for (const Params::Entry& entry : value.entries()) {
      if (entry.value.kind() != Params::Kind::kMap)
        return entry.value.Expected("a map from paths of settings to values");
      values.push_back({entry.key, {}});
      for (const Params::Entry& setting : entry.value.entries())
        values.back().settings.push_back({setting.key, setting.value});
    }
  } else {
    return value.Expected("a list of values, or a map from labels to settings");
  }
  if (values.empty())
    return value.Error(absl::StrCat("axis ", axis.key, ": no value"));
  return values;
}

// The method that all settings of an axis lie under, or none.
std::string MethodOfAll(const std::vector<AxisValue>& values) {
  std::string method;
  bool first = true;
  for (const AxisValue& value : values) {
    for (const Setting& setting : value.settings) {
      const std::string own = MethodOf(setting.path);
      if (!first && own != method) return "";
      method = own;
      first = false;
    }
  }
  return method;
}

}  // namespace

absl::StatusOr<std::vector<MatrixAxis>> ReadAxes(const Params* matrix) {
  std::vector<MatrixAxis> axes;
  if (matrix == nullptr) return axes;
  if (matrix->kind() != Params::Kind::kMap)
    return matrix->Expected("a map from axes to their values");
  for (const Params::Entry& entry : matrix->entries()) {
    BANYAN_ASSIGN_OR_RETURN(std::vector<AxisValue> values, ReadValues(entry));
    std::string method = MethodOfAll(values);
    axes.push_back({entry.key, std::move(method), std::move(values)});
  }
  return axes;
}

absl::Status ForEachCombination(
    const std::vector<const MatrixAxis*>& axes,
    absl::FunctionRef<absl::Status(const std::vector<const AxisValue*>&)>
        visit) {
  std::vector<std::size_t> at(axes.size(), 0);
  while (true) {
    std::vector<const AxisValue*> values;
    for (std::size_t i = 0; i < axes.size(); ++i)
      values.push_back(&axes[i]->values[at[i]]);
    BANYAN_RETURN_IF_ERROR(visit(values));
    std::size_t axis = axes.size();
    while (axis > 0 && ++at[axis - 1] == axes[axis - 1]->values.size())
      at[--axis] = 0;
    if (axis == 0) return absl::OkStatus();
  }
}

}  // namespace banyan
