#include "experiments/plan/compare.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/nearest.h"
#include "core/base/params.h"
#include "core/base/status_macros.h"
#include "experiments/plan/costs.h"
#include "experiments/plan/policy_spec.h"
#include "experiments/plan/read_costs.h"

namespace banyan {
namespace {

absl::Status CheckMethod(const Params& place, const std::string& name,
                         const Params& methods) {
  if (methods.Find(name) != nullptr) return absl::OkStatus();
  std::vector<absl::string_view> known;
  for (const Params::Entry& entry : methods.entries())
    known.emplace_back(entry.key);
  return place.Error(UnknownName("method", name, known));
}

}  // namespace

absl::StatusOr<CompareSpec> ReadCompare(const Params& section,
                                        const Params& methods) {
  ParamsReader in(section, "compare");
  CompareSpec compare;
  in.Optional("reference", compare.reference);
  compare.reference_place = section.PlaceOf("reference");
  in.Optional("rivals", compare.rivals);
  const Params* lengths = in.Take("chains");
  compare.measured = lengths != nullptr && lengths->text() == kMeasured;
  const bool says = in.Optional("neighbours", compare.neighbours);
  in.Ensure(!says || compare.measured, "neighbours",
            "needs `chains: measured`; lengths from a file have no neighbours");
  const bool says_size = in.Optional("same_size", compare.same_size);
  in.Ensure(!says_size || lengths != nullptr, "same_size",
            "needs `chains`, of which it leaves out some");
  BANYAN_RETURN_IF_ERROR(in.Finish());
  if (!compare.reference.empty())
    BANYAN_RETURN_IF_ERROR(
        CheckMethod(*section.Find("reference"), compare.reference, methods));
  for (const std::string& rival : compare.rivals)
    BANYAN_RETURN_IF_ERROR(
        CheckMethod(*section.Find("rivals"), rival, methods));
  if (lengths == nullptr || compare.measured) return compare;
  if (!IsCosts(*lengths))
    return lengths->Expected(
        "`measured`, or a file of costs with `chains`, which `banyan measure` "
        "writes from the records of a run");
  BANYAN_ASSIGN_OR_RETURN(Costs costs, ReadCosts(*lengths));
  if (costs.chains.empty())
    return lengths->Expected(
        "costs with `chains`, which `banyan measure` finds in the records of "
        "chains of several lengths");
  compare.chains = std::move(costs.chains);
  return compare;
}

}  // namespace banyan
