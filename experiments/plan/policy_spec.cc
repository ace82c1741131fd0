#include "experiments/plan/policy_spec.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "core/base/catalogue.h"
#include "core/base/nearest.h"
#include "core/base/params.h"
#include "core/base/status_macros.h"
#include "core/prob/draw_kind.h"
#include "experiments/plan/params_edit.h"
#include "tree/draft_tree.h"
#include "tree/policies/catalogue.h"
#include "tree/policies/row.h"
#include "verifiers/catalogue.h"
#include "verifiers/row.h"

namespace banyan {
namespace {

constexpr absl::string_view kNodes = "nodes";
constexpr absl::string_view kLevels = "levels";
constexpr absl::string_view kWidth = "width";
constexpr absl::string_view kDraws = "draws";
constexpr absl::string_view kBatch = "batch";
constexpr absl::string_view kAcceptance = "acceptance";
constexpr absl::string_view kCalibration = "calibration";
constexpr absl::string_view kTargetMs = "target_ms";
constexpr absl::string_view kDraftMs = "draft_ms";

Params Number(double number) {
  return Params::Scalar(absl::StrFormat("%.17g", number));
}

}  // namespace

const PolicyRow* PolicySpec::row() const {
  const absl::StatusOr<const PolicyRow*> found =
      FindRow(PolicyCatalogue(), "policy", section_);
  return found.ok() ? *found : nullptr;
}

bool PolicySpec::measures_size() const {
  if (!Says(kNodes, kMeasured)) return false;
  const PolicyRow* known = row();
  return known != nullptr && known->sizes.nodes && known->sizes.levels;
}

bool PolicySpec::measures_costs() const { return Says(kTargetMs, kMeasured); }

absl::Status PolicySpec::CheckTakesCosts() const {
  BANYAN_ASSIGN_OR_RETURN(const PolicyRow* known,
                          FindRow(PolicyCatalogue(), "policy", section_));
  if (!measures_costs() || known->takes_costs) return absl::OkStatus();
  std::vector<absl::string_view> others;
  for (const PolicyRow& other : PolicyCatalogue())
    if (other.takes_costs) others.push_back(other.name);
  return section_.Find(kTargetMs)->Error(
      absl::StrCat("policy ", known->name,
                   ": only these policies read `target_ms: measured`, "
                   "to choose a tree by its costs: ",
                   absl::StrJoin(others, ", ")));
}

absl::Status PolicySpec::CheckIsOf(const std::string& drafter) const {
  const Params* calibration = section_.Find(kCalibration);
  if (calibration == nullptr) return absl::OkStatus();
  const Params* measured = calibration->Find("drafter");
  if (measured != nullptr && measured->text() != drafter)
    return section_.Error(absl::StrCat("a calibration of drafter ",
                                       measured->text(), " for drafter ",
                                       drafter));
  const Params* verifier = calibration->Find("verifier");
  if (verifier == nullptr) return absl::OkStatus();
  std::vector<absl::string_view> known;
  for (const VerifierRow& row : VerifierCatalogue()) known.push_back(row.name);
  if (absl::c_linear_search(known, verifier->text())) return absl::OkStatus();
  return verifier->Error(absl::StrCat(
      "calibration: ", UnknownName("verifier", verifier->text(), known)));
}

int PolicySpec::nodes() const { return IntAt(kNodes); }
int PolicySpec::levels() const { return IntAt(kLevels); }
int PolicySpec::width() const { return IntAt(kWidth); }

absl::Status PolicySpec::SetNodes(const Params& nodes) {
  const PolicyRow* known = row();
  if (known == nullptr) return absl::OkStatus();  // which BuildPolicy says
  if (!known->sizes.nodes)
    return nodes.Error(absl::StrCat("policy ", known->name,
                                    " is not sized by a number of nodes"));
  for (const absl::string_view key : known->instead_of_nodes) Drop(key);
  Set(kNodes, nodes);
  return absl::OkStatus();
}

void PolicySpec::SetSize(int nodes, int levels) {
  Set(kNodes, Params::Scalar(absl::StrCat(nodes)));
  Set(kLevels, Params::Scalar(absl::StrCat(levels)));
}

void PolicySpec::SetAcceptance(const std::vector<double>& by_rank) {
  std::vector<Params> items;
  for (const double share : by_rank) items.push_back(Number(share));
  Set(kAcceptance, Params::List(std::move(items)));
}

void PolicySpec::SetCosts(const std::map<int, double>& target_ms,
                          double draft_ms) {
  std::vector<Params::Entry> curve;
  for (const auto& [tokens, ms] : target_ms)
    curve.push_back({absl::StrCat(tokens), {}, Number(ms)});
  Set(kTargetMs, Params::Map(std::move(curve)));
  Set(kDraftMs, Number(draft_ms));
}

void PolicySpec::DropCosts() {
  for (const absl::string_view key : {kCalibration, kTargetMs, kDraftMs})
    Drop(key);
}

void PolicySpec::SetBatch(int batch) {
  if (section_.Find(kTargetMs) != nullptr && section_.Find(kBatch) == nullptr)
    Set(kBatch, Params::Scalar(absl::StrCat(batch)));
}

void PolicySpec::TakeStatedDraws(const PolicySpec& other) {
  if (const Params* stated = other.section_.Find(kDraws)) Set(kDraws, *stated);
}

void PolicySpec::TakeDraws(const PolicySpec& other) {
  const PolicyRow* known = other.row();
  if (known != nullptr && known->only_draws.has_value())
    SetDraws(Name(*known->only_draws));
  TakeStatedDraws(other);
}

void PolicySpec::SetDraws(absl::string_view draws) {
  Set(kDraws, Params::Scalar(std::string(draws)));
}

void PolicySpec::Set(absl::string_view key, Params value) {
  section_ = With(section_, {std::string(key), value.origin(), value});
}

void PolicySpec::Drop(absl::string_view key) {
  section_ = Without(section_, key);
}

int PolicySpec::IntAt(absl::string_view key) const {
  int number = 0;
  const Params* value = section_.Find(key);
  if (value == nullptr || !absl::SimpleAtoi(value->text(), &number)) return 0;
  return number;
}

bool PolicySpec::Says(absl::string_view key, absl::string_view text) const {
  const Params* value = section_.Find(key);
  return value != nullptr && value->text() == text;
}

}  // namespace banyan
