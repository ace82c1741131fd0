#include "experiments/plan/experiment.h"

#include "core/base/common.h"
#include "core/base/messages.h"
#include "core/prob/sampling_rule.h"
#include "decode/method.h"

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
  const bool says_verifiers = in.Optional("verifiers", compare.verifiers);
  in.Ensure(!says_verifiers || lengths != nullptr, "verifiers",
            "needs `chains`, which it judges by other verifiers");
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

namespace {

// With its length, so that two texts cannot run into each other.
void AddText(absl::string_view text, std::string& out) {
  absl::StrAppend(&out, text.size(), ":", text);
}

void AddValue(const Params& value, std::string& out) {
  const Origin& at = value.origin();
  if (at.file != nullptr) AddText(*at.file, out);
  absl::StrAppend(&out, ":", at.line, ":", at.column, " ",
                  static_cast<int>(value.kind()), " ", value.items().size(),
                  " ", value.entries().size(), " ");
  AddText(value.text(), out);
  for (const Params& item : value.items()) AddValue(item, out);
  for (const Params::Entry& entry : value.entries()) {
    AddText(entry.key, out);
    AddValue(entry.value, out);
  }
}

void AddModel(const ModelSpec& model, std::string& out) {
  absl::StrAppend(&out, model.reserved, " ", model.copy, " ");
  for (const std::string& text :
       {model.directory, model.weights, model.memory, model.copies})
    AddText(text, out);
}

void AddMethod(const MethodSpec& method, std::string& out) {
  absl::StrAppend(&out, method.models.size(), " ", method.drafters.size(), " ",
                  method.trunks.size(), " ", Name(method.scoring), " ",
                  Name(method.rounds.value_or(RoundsOn::kAuto)), " ");
  for (const NamedModel& model : method.models) {
    AddText(model.name, out);
    AddText(model.folder_key, out);
    AddValue(model.place, out);
    AddModel(model.spec, out);
  }
  for (const Params& drafter : method.drafters) AddValue(drafter, out);
  for (const TrunkSpec& trunk : method.trunks) {
    absl::StrAppend(&out, trunk.drafter, " ");
    AddValue(trunk.policy.section(), out);
  }
  AddValue(method.verifier, out);
  AddText(method.errors.status().message(), out);
}

}  // namespace

std::string SettingOf(const ExperimentCell& cell) {
  std::string out = absl::StrCat(cell.max_new_tokens, " ", cell.ignore_eos, " ",
                                 cell.batch, " ");
  AddText(cell.method, out);
  AddModel(cell.target, out);
  AddValue(Params::Map(cell.sampling), out);
  AddMethod(cell.spec, out);
  return out;
}

}  // namespace banyan
