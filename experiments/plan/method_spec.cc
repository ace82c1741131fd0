#include "experiments/plan/method_spec.h"

#include <algorithm>
#include <cmath>

#include "absl/algorithm/container.h"
#include "core/base/weight_format.h"
#include "core/prob/draw_kind.h"
#include "experiments/plan/params_edit.h"
#include "tree/draft_tree.h"
#include "tree/policies/catalogue.h"

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

namespace {

constexpr absl::string_view kNodes = "nodes";
constexpr absl::string_view kLevels = "levels";
constexpr absl::string_view kWidth = "width";
constexpr absl::string_view kDraws = "draws";
constexpr absl::string_view kBatch = "batch";
constexpr absl::string_view kAcceptance = "acceptance";
constexpr absl::string_view kAlone = "alone";
constexpr absl::string_view kAccuracies = "accuracies";
constexpr absl::string_view kTargetMs = "target_ms";
constexpr absl::string_view kDraftMs = "draft_ms";

Params Number(double number) {
  return Params::Scalar(absl::StrFormat("%.17g", number));
}

// Counted shares to four places, of which the sum stays at most 1: they are
// known to fewer places, and a shape should not depend on what chance made of
// the fifth.
std::vector<double> Rounded(std::vector<double> shares) {
  constexpr double kPlaces = 1e4;
  double left = kPlaces;
  for (double& share : shares) {
    const double rounded = std::min(left, std::round(share * kPlaces));
    left -= rounded;
    share = rounded / kPlaces;
  }
  return shares;
}

absl::Status Lacks(absl::string_view key, absl::string_view what,
                   const CostQuestion& question) {
  return absl::InvalidArgumentError(absl::StrCat(
      key, ": the costs have no ", what, " of drafter ", question.drafter.label,
      " (", question.drafter.kind, "); `banyan measure` measures it"));
}

Params Numbers(const std::vector<double>& numbers) {
  std::vector<Params> items;
  for (const double number : numbers) items.push_back(Number(number));
  return Params::List(std::move(items));
}

Params Lists(const std::vector<std::vector<double>>& rows) {
  std::vector<Params> items;
  for (const std::vector<double>& row : rows) items.push_back(Numbers(row));
  return Params::List(std::move(items));
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

bool PolicySpec::includes_costs() const {
  return absl::c_any_of(section_.entries(), [](const Params::Entry& entry) {
    return IsCosts(entry.value);
  });
}

absl::Status PolicySpec::PutStatedCosts(
    CostQuestion question, const std::vector<CountedDrafter>& drafters,
    std::vector<std::string>& notes) {
  for (const absl::string_view key :
       {kAcceptance, kAccuracies, kAlone, kTargetMs, kDraftMs}) {
    const Params* value = section_.Find(key);
    if (value == nullptr || !IsCosts(*value)) continue;
    BANYAN_ASSIGN_OR_RETURN(const Costs costs, ReadCosts(*value));
    if (!of_method() && !drafters.empty()) question.drafter = drafters.front();
    question.drafter.draws = draws();
    const absl::Status put =
        of_method() ? PutTogether(key, costs, question, drafters, notes)
                    : PutStated(key, costs, question, notes);
    if (!put.ok()) return ErrorAt(KeyPlace(key), put);
  }
  return absl::OkStatus();
}

absl::Status PolicySpec::PutStated(absl::string_view key, const Costs& costs,
                                   const CostQuestion& question,
                                   std::vector<std::string>& notes) {
  if (key == kAcceptance) {
    const AcceptanceTable* found = BestAcceptance(costs, question);
    if (found == nullptr) return Lacks(key, "acceptance", question);
    NoteOthers(key, question, found->drafters.front().label,
               found->setting.target, notes);
    SetAcceptance(Rounded(found->ByRank()));
    return absl::OkStatus();
  }
  if (key == kAccuracies) {
    const HeadTable* found = BestHeads(costs, question);
    if (found == nullptr) return Lacks(key, "accuracies by head", question);
    NoteOthers(key, question, found->drafter.label, found->setting.target,
               notes);
    std::vector<Params> rows;
    for (const std::vector<double>& head : found->Accuracies())
      rows.push_back(Numbers(Rounded(head)));
    Set(kAccuracies, Params::List(std::move(rows)));
    return absl::OkStatus();
  }
  if (key == kTargetMs) {
    const PassCosts* found = BestPasses(costs, question);
    if (found == nullptr)
      return absl::InvalidArgumentError("target_ms: the costs have no passes");
    NoteOthers(key, question, question.drafter.label, found->setting.target,
               notes);
    SetCurve(found->ms);
    if (section_.Find(kDraftMs) != nullptr || costs.levels.empty())
      return absl::OkStatus();
  }
  const LevelCosts* level = BestLevel(costs, question);
  if (level == nullptr) return Lacks(key, "level", question);
  Set(kDraftMs, Number(level->ms));
  return absl::OkStatus();
}

absl::Status PolicySpec::PutTogether(
    absl::string_view key, const Costs& costs, CostQuestion question,
    const std::vector<CountedDrafter>& drafters,
    std::vector<std::string>& notes) {
  const std::string own_draws = question.drafter.draws;
  std::vector<std::string> labels;
  std::vector<AcceptanceTable> alone;
  std::vector<double> draft_ms;
  for (const CountedDrafter& drafter : drafters) {
    question.drafter = drafter;
    question.drafter.draws = own_draws;
    if (key == kAlone) {
      const AcceptanceTable* found = BestAcceptance(costs, question);
      if (found == nullptr) return Lacks(key, "acceptance", question);
      NoteOthers(key, question, found->drafters.front().label,
                 found->setting.target, notes);
      // Which may be another of its kind, on another target: so together too.
      labels.push_back(found->drafters.front().label);
      alone.push_back(*found);
    } else {
      const LevelCosts* level = BestLevel(costs, question);
      if (level == nullptr) return Lacks(kDraftMs, "level", question);
      draft_ms.push_back(level->ms);
    }
  }
  if (key == kAlone) {
    absl::StatusOr<AcceptanceTable> together = AcceptanceTable();
    if (labels.size() > 1) {
      question.target = alone.front().setting.target;
      together = FindTogether(costs, question, labels);
      if (!together.ok()) return together.status();
    }
    SetJoint(
        CountJointly(alone, labels.size() > 1 ? &*together : nullptr, labels));
    return absl::OkStatus();
  }
  const bool states_levels =
      key == kTargetMs && section_.Find(kDraftMs) != nullptr;
  if (key == kTargetMs) {
    const PassCosts* found = BestPasses(costs, question);
    if (found == nullptr)
      return absl::InvalidArgumentError("target_ms: the costs have no passes");
    NoteOthers(key, question, "", found->setting.target, notes);
    SetCurve(found->ms);
  }
  if (!states_levels) Set(kDraftMs, Numbers(draft_ms));
  return absl::OkStatus();
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
  Set(kAcceptance, Numbers(by_rank));
}

void PolicySpec::SetCurve(const std::map<int, double>& target_ms) {
  std::vector<Params::Entry> curve;
  for (const auto& [tokens, ms] : target_ms)
    curve.push_back({absl::StrCat(tokens), {}, Number(ms)});
  Set(kTargetMs, Params::Map(std::move(curve)));
}

void PolicySpec::SetCosts(const std::map<int, double>& target_ms,
                          double draft_ms) {
  SetCurve(target_ms);
  Set(kDraftMs, Number(draft_ms));
}

void PolicySpec::SetCosts(const std::map<int, double>& target_ms,
                          const std::vector<double>& draft_ms,
                          const JointNumbers& acceptance) {
  SetCurve(target_ms);
  Set(kDraftMs, Numbers(draft_ms));
  SetJoint(acceptance);
}

void PolicySpec::SetJoint(const JointNumbers& numbers) {
  std::vector<Params> alone;
  for (const auto& by_depth : numbers.alone) alone.push_back(Lists(by_depth));
  Set(kAlone, Params::List(std::move(alone)));
  if (numbers.together.empty()) return;
  Set("together", Numbers(numbers.together));
  Set("agree_right", Lists(numbers.agree_right));
  Set("agree_wrong", Lists(numbers.agree_wrong));
}

void PolicySpec::DropCosts() {
  for (const absl::string_view key : {kTargetMs, kDraftMs}) Drop(key);
}

std::string PolicySpec::draws() const {
  if (const Params* stated = section_.Find(kDraws)) return stated->text();
  const PolicyRow* known = row();
  return known != nullptr && known->only_draws.has_value()
             ? std::string(Name(*known->only_draws))
             : std::string();
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

const Origin& PolicySpec::KeyPlace(absl::string_view key) const {
  for (const Params::Entry& entry : section_.entries())
    if (entry.key == key) return entry.key_origin;
  return section_.origin();
}

void PolicySpec::NoteOthers(absl::string_view key, const CostQuestion& question,
                            const std::string& drafter,
                            const std::string& target,
                            std::vector<std::string>& notes) const {
  const auto note = [&](absl::string_view what, const std::string& own,
                        const std::string& measured) {
    if (own.empty() || measured.empty() || own == measured) return;
    std::string text =
        absl::StrCat("policy ", row() == nullptr ? "" : row()->name, ": ", key,
                     " was measured for ", what, " ", measured, ", not for ",
                     own, "; `banyan measure` measures that");
    if (!absl::c_linear_search(notes, text)) notes.push_back(std::move(text));
  };
  note("drafter", question.drafter.label, drafter);
  note("target", question.target, target);
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
