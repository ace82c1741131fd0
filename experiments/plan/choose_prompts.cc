#include "experiments/plan/choose_prompts.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/nearest.h"
#include "core/base/params.h"
#include "core/base/status_macros.h"
#include "experiments/plan/experiment.h"
#include "experiments/plan/workload.h"

namespace banyan {
namespace {

absl::Status CheckKinds(const std::vector<std::string>& kinds,
                        const Origin& place, const Workload& workload) {
  std::set<std::string> known;
  for (const WorkloadPrompt& prompt : workload.prompts)
    known.insert(prompt.kind);
  for (const std::string& kind : kinds)
    if (known.count(kind) == 0)
      return ErrorAt(
          place, absl::StrCat(workload.path, ": ",
                              UnknownName("kind of prompt", kind,
                                          std::vector<absl::string_view>(
                                              known.begin(), known.end()))));
  return absl::OkStatus();
}

}  // namespace

absl::Status GroupKinds(const WorkloadSpec& spec, Workload& workload) {
  std::map<std::string, std::string> group_of;
  const Params* section = spec.section.Find("groups");
  for (const auto& [name, kinds] : spec.groups) {
    const Origin place = section == nullptr ? Origin() : section->PlaceOf(name);
    BANYAN_RETURN_IF_ERROR(CheckKinds(kinds, place, workload));
    for (const std::string& kind : kinds)
      if (!group_of.emplace(kind, name).second)
        return ErrorAt(place, absl::StrCat("workload.groups: the kind '", kind,
                                           "' is in a group already, '",
                                           group_of[kind], "'"));
  }
  for (WorkloadPrompt& prompt : workload.prompts)
    if (const auto found = group_of.find(prompt.kind); found != group_of.end())
      prompt.kind = found->second;
  return absl::OkStatus();
}

absl::StatusOr<std::vector<int>> ChoosePrompts(const WorkloadSpec& spec,
                                               const Workload& workload) {
  BANYAN_RETURN_IF_ERROR(
      CheckKinds(spec.kinds, spec.section.PlaceOf("kinds"), workload));
  std::vector<int> fitting;
  for (std::size_t i = 0; i < workload.prompts.size(); ++i) {
    const std::string& kind = workload.prompts[i].kind;
    if (spec.kinds.empty() || std::find(spec.kinds.begin(), spec.kinds.end(),
                                        kind) != spec.kinds.end())
      fitting.push_back(static_cast<int>(i));
  }
  const auto wanted = spec.prompts == 0
                          ? fitting.size()
                          : static_cast<std::size_t>(spec.prompts);
  if (wanted > fitting.size() || fitting.empty())
    return ErrorAt(spec.section.PlaceOf("prompts"),
                   absl::StrCat(workload.path, ": expected ",
                                std::max<std::size_t>(wanted, 1),
                                " prompts or more of the kinds wanted, found ",
                                fitting.size()));
  std::vector<int> chosen;
  for (std::size_t i = 0; i < wanted; ++i)
    chosen.push_back(fitting[(i * fitting.size() / wanted +
                              static_cast<std::size_t>(spec.offset)) %
                             fitting.size()]);
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

}  // namespace banyan
