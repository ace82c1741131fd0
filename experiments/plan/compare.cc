#include "experiments/plan/compare.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/nearest.h"
#include "core/base/params.h"
#include "core/base/status_macros.h"
#include "experiments/plan/policy_spec.h"
#include "tree/tree_policy.h"

namespace banyan {
namespace {

absl::StatusOr<ChainLength> ReadLength(const Params& item) {
  ParamsReader in(item, "chains");
  ChainLength length;
  in.Required("target", length.target);
  in.Required("drafter", length.drafter);
  in.Required("temperature", length.temperature);
  in.Required("length", length.length);
  in.Ensure(length.length >= 1 && length.length <= kMaxDraws, "length",
            absl::StrCat("must lie between 1 and ", kMaxDraws));
  in.Required("speed", length.speed);
  BANYAN_RETURN_IF_ERROR(in.Finish());
  return length;
}

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
  std::vector<Params> chains;
  const Params* lengths = in.Take("chains");
  compare.measured = lengths != nullptr && lengths->text() == kMeasured;
  if (lengths != nullptr && !compare.measured) {
    if (lengths->kind() != Params::Kind::kList)
      in.Note(
          lengths->Expected("`measured`, or a list written by `banyan "
                            "fastest`"));
    else
      in.Note(Convert(*lengths, chains));
  }
  const bool says = in.Optional("neighbours", compare.neighbours);
  in.Ensure(!says || compare.measured, "neighbours",
            "needs `chains: measured`; lengths from a file have no neighbours");
  BANYAN_RETURN_IF_ERROR(in.Finish());
  if (!compare.reference.empty())
    BANYAN_RETURN_IF_ERROR(
        CheckMethod(*section.Find("reference"), compare.reference, methods));
  for (const std::string& rival : compare.rivals)
    BANYAN_RETURN_IF_ERROR(
        CheckMethod(*section.Find("rivals"), rival, methods));
  for (const Params& item : chains) {
    BANYAN_ASSIGN_OR_RETURN(ChainLength length, ReadLength(item));
    compare.chains.push_back(std::move(length));
  }
  return compare;
}

}  // namespace banyan
