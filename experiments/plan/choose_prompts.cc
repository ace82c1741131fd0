#include "experiments/plan/choose_prompts.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/nearest.h"
#include "experiments/plan/experiment.h"
#include "experiments/plan/workload.h"

namespace banyan {

absl::StatusOr<std::vector<int>> ChoosePrompts(const WorkloadSpec& spec,
                                               const Workload& workload) {
  std::set<std::string> known;
  for (const WorkloadPrompt& prompt : workload.prompts)
    known.insert(prompt.kind);
  for (const std::string& kind : spec.kinds)
    if (known.count(kind) == 0)
      return absl::InvalidArgumentError(absl::StrCat(
          workload.path, ": ",
          UnknownName(
              "kind of prompt", kind,
              std::vector<absl::string_view>(known.begin(), known.end()))));
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
    return absl::InvalidArgumentError(absl::StrCat(
        workload.path, ": expected ", std::max<std::size_t>(wanted, 1),
        " prompts or more of the kinds wanted, found ", fitting.size()));
  std::vector<int> chosen;
  for (std::size_t i = 0; i < wanted; ++i)
    chosen.push_back(fitting[(i * fitting.size() / wanted +
                              static_cast<std::size_t>(spec.offset)) %
                             fitting.size()]);
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

}  // namespace banyan
