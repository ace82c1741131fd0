#include "experiments/plan/axes.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <utility>

#include "configs/loader/yaml.h"
#include "core/base/messages.h"
#include "experiments/plan/params_edit.h"

namespace banyan {
namespace {

// "chain" of "methods.chain.policy.nodes"; empty for any other path, and for
// "methods.*.nodes".
std::string MethodOf(absl::string_view path) {
  constexpr absl::string_view kMethods = "methods.";
  if (path.substr(0, kMethods.size()) != kMethods) return "";
  path.remove_prefix(kMethods.size());
  const absl::string_view method = path.substr(0, path.find('.'));
  return method == kEveryKey ? "" : std::string(method);
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

// Whether one of two paths of settings lies in the other.
bool Overlap(absl::string_view a, absl::string_view b) {
  const std::vector<absl::string_view> parts = absl::StrSplit(a, '.');
  const std::vector<absl::string_view> others = absl::StrSplit(b, '.');
  const std::size_t both = std::min(parts.size(), others.size());
  for (std::size_t i = 0; i < both; ++i)
    if (parts[i] != others[i] && parts[i] != kEveryKey &&
        others[i] != kEveryKey)
      return false;
  return true;
}

// "draft" of "methods.chain.models.draft.weights"; empty for any other path.
std::string OwnModelOf(absl::string_view path) {
  const std::vector<std::string> parts = absl::StrSplit(path, '.');
  const bool own =
      parts.size() >= 4 && parts[0] == "methods" && parts[2] == "models";
  return own ? parts[3] : "";
}

// The experiment's models stand in the place of methods' own.
absl::Status CheckOwnModel(const Params& root, const Setting& setting) {
  const Params* models = root.Find("models");
  const std::string name = OwnModelOf(setting.path);
  if (name.empty() || models == nullptr || models->Find(name) == nullptr)
    return absl::OkStatus();
  return setting.value.Error(absl::StrCat("the experiment's own model '", name,
                                          "' stands in the place of ",
                                          setting.path, "; set models.", name));
}

absl::Status CheckPath(const MatrixAxis& axis, const Setting& setting) {
  static constexpr std::array<absl::string_view, 8> kVaries = {
      "target", "sampling", "limits", "batch",
      "rounds", "seeds",    "models", "methods"};
  if (IsPreset(setting.path))
    return setting.value.Error(absl::StrCat(
        "axis ", axis.name, ": a preset cannot vary; name a method for each"));
  const std::string first = setting.path.substr(0, setting.path.find('.'));
  if (std::find(kVaries.begin(), kVaries.end(), first) != kVaries.end())
    return absl::OkStatus();
  return setting.value.Error(absl::StrCat(
      "axis ", axis.name, ": '", setting.path,
      "' cannot vary; what can lies under ", absl::StrJoin(kVaries, ", ")));
}

// `axis` comes after `before`.
absl::Status CheckAfter(const MatrixAxis& axis, const Setting& setting,
                        const MatrixAxis& before) {
  for (const AxisValue& value : before.values)
    for (const Setting& other : value.settings)
      if (Overlap(other.path, setting.path))
        return setting.value.Error(
            absl::StrCat("axis ", axis.name, " sets ", setting.path,
                         ", and axis ", before.name, " sets ", other.path));
  return absl::OkStatus();
}

absl::Status CheckSetting(const std::vector<MatrixAxis>& axes,
                          std::size_t number, const Setting& setting,
                          const Settings& settings) {
  const MatrixAxis& axis = axes[number];
  BANYAN_RETURN_IF_ERROR(CheckPath(axis, setting));
  for (const auto& [path, value] : settings)
    if (Overlap(path, setting.path))
      return value.Error(
          absl::StrCat("axis ", axis.name, " would replace this by its own ",
                       setting.path, "; change that in matrix.", axis.name));
  for (std::size_t other = 0; other < number; ++other)
    BANYAN_RETURN_IF_ERROR(CheckAfter(axis, setting, axes[other]));
  return absl::OkStatus();
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

bool ConcernsBaselines(const MatrixAxis& axis) {
  for (const AxisValue& value : axis.values)
    for (const Setting& setting : value.settings)
      if (!Overlap(setting.path, "methods") && !Overlap(setting.path, "models"))
        return true;
  return false;
}

absl::Status CheckAxes(const std::vector<MatrixAxis>& axes,
                       const Settings& settings, const Params& root) {
  for (std::size_t i = 0; i < axes.size(); ++i)
    for (const AxisValue& value : axes[i].values)
      for (const Setting& setting : value.settings) {
        BANYAN_RETURN_IF_ERROR(CheckSetting(axes, i, setting, settings));
        BANYAN_RETURN_IF_ERROR(CheckOwnModel(root, setting));
      }
  for (const auto& [path, value] : settings)
    BANYAN_RETURN_IF_ERROR(CheckOwnModel(root, {path, value}));
  return absl::OkStatus();
}

absl::Status CheckCells(const std::vector<MatrixAxis>& axes,
                        const std::vector<std::string>& methods,
                        std::size_t seeds, const Params& place) {
  // Doubles do not overflow, and small numbers are exact.
  auto combinations = static_cast<double>(seeds);
  std::map<std::string, double> of_method;
  for (const std::string& method : methods) of_method[method] = 1;
  std::string sizes = absl::StrCat(seeds, " of seeds");
  for (const MatrixAxis& axis : axes) {
    const auto values = static_cast<double>(axis.values.size());
    const auto own = of_method.find(axis.method);
    (own == of_method.end() ? combinations : own->second) *= values;
    absl::StrAppend(&sizes, ", ", values, " of ", axis.name);
  }
  double cells = combinations;  // of plain decoding
  for (const auto& [method, own] : of_method) cells += combinations * own;
  if (cells <= kMostCells) return absl::OkStatus();
  return place.Error(absl::StrCat(
      "expected at most ", kMostCells, " cells, found ", cells, ": ", sizes,
      ", with plain decoding and ",
      Counted(static_cast<std::int64_t>(methods.size()), "method")));
}

void ForEachCombination(
    const std::vector<const MatrixAxis*>& axes,
    absl::FunctionRef<void(const std::vector<const AxisValue*>&)> visit) {
  std::vector<std::size_t> at(axes.size(), 0);
  while (true) {
    std::vector<const AxisValue*> values;
    for (std::size_t i = 0; i < axes.size(); ++i)
      values.push_back(&axes[i]->values[at[i]]);
    visit(values);
    std::size_t axis = axes.size();
    while (axis > 0 && ++at[axis - 1] == axes[axis - 1]->values.size())
      at[--axis] = 0;
    if (axis == 0) return;
  }
}

}  // namespace banyan
