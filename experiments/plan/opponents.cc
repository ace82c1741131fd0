#include "experiments/plan/opponents.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "configs/loader/writer.h"
#include "core/base/nearest.h"
#include "core/base/params.h"
#include "core/base/status_macros.h"
#include "core/prob/sampling_rule.h"
#include "drafters/catalogue.h"
#include "experiments/plan/experiment.h"
#include "experiments/plan/params_edit.h"
#include "experiments/plan/resolve.h"
#include "tree/policies/catalogue.h"
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
  in.Ensure(length.length >= 1, "length", "must be at least 1");
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

// A drafter of some method, alone.
struct OneDrafter {
  std::string label;
  // The same for the same drafter, however methods name its models.
  std::string identity;
  Params models;  // those it names
  Params section;
};

// The directory or folder that a model of a method names.
const Params* PlaceOf(const Params& model) {
  if (model.kind() != Params::Kind::kMap) return nullptr;
  for (const Params::Entry& entry : model.entries())
    if (entry.key != "weights") return &entry.value;
  return nullptr;
}

// A model's name in a drafter's section, and the path that leads there.
struct ModelName {
  std::string path;
  std::string name;
};

// Those in `value`, however deep: drafters are made of drafters.
void FindModels(const Params& value, const std::string& path,
                const Params& models, std::vector<ModelName>& found) {
  if (value.kind() == Params::Kind::kScalar &&
      models.Find(value.text()) != nullptr)
    found.push_back({path, value.text()});
  const std::string before = path.empty() ? "" : absl::StrCat(path, ".");
  for (const Params::Entry& entry : value.entries())
    if (entry.key != "name")
      FindModels(entry.value, absl::StrCat(before, entry.key), models, found);
  for (std::size_t i = 0; i < value.items().size(); ++i)
    FindModels(value.items()[i], absl::StrCat(before, i), models, found);
}

OneDrafter Alone(const Params& method, const Params& drafter,
                 const std::string& target) {
  OneDrafter alone = {.section = drafter};
  const std::string title = DrafterTitle(drafter);
  alone.label = title;
  std::vector<ModelName> names;
  const Params* models = method.Find("models");
  if (models != nullptr) FindModels(drafter, "", *models, names);
  std::map<std::string, Params> used;
  Params renamed = drafter;
  std::string weights;
  for (const ModelName& one : names) {
    const Params& model = *models->Find(one.name);
    used.emplace(one.name, model);
    const Params* place = PlaceOf(model);
    if (place == nullptr) continue;  // which the method will say
    alone.label = DrafterLabel(
        title, place->text() == "target" ? target : FolderName(place->text()));
    // Whatever the model is called, it is this one.
    const absl::StatusOr<Params> other = WithValue(
        renamed, one.path,
        Params::Scalar(std::filesystem::path(Beside(*place, place->text()))
                           .lexically_normal()
                           .string()));
    if (!other.ok()) continue;
    renamed = *other;
    if (const Params* format = model.Find("weights"))
      absl::StrAppend(&weights, one.path, " ", format->text());
  }
  alone.identity = absl::StrCat(ToYaml(renamed), weights);
  std::vector<Params::Entry> entries;
  for (auto& [name, model] : used) entries.push_back({name, {}, model});
  alone.models = Params::Map(std::move(entries));
  return alone;
}

Params Chain(const OneDrafter& drafter, int length) {
  const auto named = [](const std::string& name) {
    return Params::Entry{"name", {}, Params::Scalar(name)};
  };
  std::vector<Params::Entry> entries;
  if (!drafter.models.entries().empty())
    entries.push_back({"models", {}, drafter.models});
  entries.push_back({"drafters", {}, Params::List({drafter.section})});
  entries.push_back(
      {"policy",
       {},
       Params::Map({named("chain"),
                    {"gamma", {}, Params::Scalar(absl::StrCat(length))}})});
  // What all verifiers do with a chain, but for block, which k independent
  // lists could not use.
  entries.push_back({"verifier", {}, Params::Map({named("multi_round")})});
  return Params::Map(std::move(entries));
}

// What a rival drafts.
struct Drafts {
  std::vector<OneDrafter> drafters;
  int nodes = 0;
  bool chain = false;  // of one drafter
};

absl::StatusOr<Drafts> DraftsOf(const Params& method,
                                const std::string& target) {
  Drafts drafts;
  const Params* list = method.Find("drafters");
  if (list == nullptr || list->kind() != Params::Kind::kList) return drafts;
  for (const Params& drafter : list->items())
    if (drafter.kind() == Params::Kind::kMap)
      drafts.drafters.push_back(Alone(method, drafter, target));
  std::vector<const Params*> policies;
  const Params* own = method.Find("policy");
  const Params* trunks = method.Find("trunks");
  if (trunks != nullptr && trunks->kind() == Params::Kind::kList) {
    for (const Params& trunk : trunks->items()) {
      const Params* policy = trunk.Find("policy");
      policies.push_back(policy == nullptr ? own : policy);
    }
  } else {
    policies.assign(list->items().size(), own);
  }
  drafts.chain = policies.size() == 1;
  for (const Params* policy : policies) {
    if (policy == nullptr) continue;  // which the method will say
    BANYAN_ASSIGN_OR_RETURN(const PolicyChoice choice, BuildPolicy(*policy));
    const PolicyTraits traits = choice.policy->traits();
    drafts.nodes += traits.nodes;
    drafts.chain = drafts.chain && traits.chain;
  }
  return drafts;
}

class Matcher {
 public:
  Matcher(const CompareSpec& compare, Experiment& out)
      : compare_(compare), out_(out) {
    for (std::size_t i = 0; i < out_.cells.size(); ++i) {
      const ExperimentCell& cell = out_.cells[i];
      if (IsRival(cell))
        rivals_.push_back(i);
      else if (!compare.reference.empty() && cell.method == compare.reference)
        references_[cell.combination].push_back(static_cast<int>(i));
    }
  }

  absl::Status Run() {
    std::map<std::size_t, Drafts> drafts;  // by rival
    for (std::size_t rival : rivals_) {
      const ExperimentCell& cell = out_.cells[rival];
      BANYAN_ASSIGN_OR_RETURN(drafts[rival],
                              DraftsOf(cell.section, TargetOf(cell)));
      for (const OneDrafter& drafter : drafts[rival].drafters)
        drafters_[cell.combination].push_back(drafter);
    }
    for (std::size_t rival : rivals_)
      BANYAN_RETURN_IF_ERROR(Oppose(rival, drafts[rival]));
    return absl::OkStatus();
  }

 private:
  bool IsRival(const ExperimentCell& cell) const {
    if (cell.method == kPlainMethod || cell.method == compare_.reference)
      return false;
    return compare_.rivals.empty() ||
           std::find(compare_.rivals.begin(), compare_.rivals.end(),
                     cell.method) != compare_.rivals.end();
  }

  absl::Status Oppose(std::size_t rival, const Drafts& drafts) {
    // A copy: cells are added.
    const ExperimentCell cell = out_.cells[rival];
    std::vector<Opponent> opponents;
    BANYAN_ASSIGN_OR_RETURN(const int reference, ReferenceOf(cell));
    opponents.push_back({reference, OpponentRole::kReference});
    if (!compare_.chains.empty() && !drafts.chain)
      for (const OneDrafter& drafter : drafts.drafters) {
        if (drafts.nodes > 0)
          opponents.push_back(
              {CellOf(cell, drafter, drafts.nodes), OpponentRole::kSameNodes});
        if (const ChainLength* length = Find(cell, drafter.label))
          opponents.push_back(
              {CellOf(cell, drafter, length->length), OpponentRole::kFastest});
        else
          Note(absl::StrCat("compare.chains know no length for drafter ",
                            drafter.label, " on target ", TargetOf(cell)));
      }
    out_.cells[rival].opponents = std::move(opponents);
    return absl::OkStatus();
  }

  absl::StatusOr<int> ReferenceOf(const ExperimentCell& cell) {
    if (!compare_.reference.empty()) {
      const std::vector<int>& found = references_[cell.combination];
      if (found.size() != 1)
        return absl::InvalidArgumentError(absl::StrCat(
            "compare.reference: method ", compare_.reference, " has ",
            found.size(), " cells beside ", cell.name, ", expected one"));
      return found.front();
    }
    const OneDrafter* best = nullptr;
    const ChainLength* length = nullptr;
    for (const OneDrafter& drafter : drafters_[cell.combination]) {
      const ChainLength* own = Find(cell, drafter.label);
      if (own == nullptr || (length != nullptr && own->speed <= length->speed))
        continue;
      best = &drafter;
      length = own;
    }
    if (best == nullptr) return cell.baseline;
    return CellOf(cell, *best, length->length);
  }

  static std::string TargetOf(const ExperimentCell& cell) {
    return FolderName(cell.target.directory);
  }

  // At the nearest temperature that is known.
  const ChainLength* Find(const ExperimentCell& cell,
                          const std::string& drafter) const {
    const absl::StatusOr<SamplingRule> rule =
        SamplingRule::FromParams(Params::Map(cell.sampling));
    const double temperature = rule.ok() ? rule->options().temperature : 1;
    const ChainLength* found = nullptr;
    for (const ChainLength& length : compare_.chains) {
      if (length.target != TargetOf(cell) || length.drafter != drafter)
        continue;
      const auto off = [&](const ChainLength& other) {
        return std::fabs(other.temperature - temperature);
      };
      if (found == nullptr || off(length) < off(*found)) found = &length;
    }
    return found;
  }

  // The number of a chain's cell, made if there is none.
  int CellOf(const ExperimentCell& rival, const OneDrafter& drafter,
             int length) {
    ExperimentCell cell = rival;
    cell.section = Chain(drafter, length);
    cell.axes.resize(rival.shared_axes);
    cell.opponents.clear();
    const std::string key =
        absl::StrCat(rival.combination, " ", length, " ", drafter.identity);
    const auto [at, is_new] =
        chains_.emplace(key, static_cast<int>(out_.cells.size()));
    if (!is_new) return at->second;
    const std::string method =
        absl::StrCat("chain-", length, " ", drafter.label);
    for (int other = 2;; ++other) {  // another drafter of the same name
      cell.method = other == 2 ? method : absl::StrCat(method, "-", other - 1);
      cell.name = CellName(cell.method, cell.axes);
      const bool taken = std::any_of(
          out_.cells.begin(), out_.cells.end(),
          [&](const ExperimentCell& own) { return own.name == cell.name; });
      if (!taken) break;
    }
    out_.cells.push_back(std::move(cell));
    return at->second;
  }

  void Note(std::string note) {
    if (noted_.insert(note).second) out_.notes.push_back(std::move(note));
  }

  const CompareSpec& compare_;
  Experiment& out_;
  std::vector<std::size_t> rivals_;
  std::map<int, std::vector<int>> references_;       // by combination
  std::map<int, std::vector<OneDrafter>> drafters_;  // by combination
  std::map<std::string, int> chains_;
  std::set<std::string> noted_;
};

}  // namespace

absl::StatusOr<CompareSpec> ReadCompare(const Params& section,
                                        const Params& methods) {
  ParamsReader in(section, "compare");
  CompareSpec compare;
  in.Optional("reference", compare.reference);
  in.Optional("rivals", compare.rivals);
  std::vector<Params> chains;
  in.Optional("chains", chains);
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

std::string DrafterLabel(const std::string& title, const std::string& folder) {
  const std::size_t parts = title.find('(');
  return parts == std::string::npos ? folder : title.substr(0, parts);
}

std::string FolderName(const std::string& path) {
  const std::filesystem::path whole(path);
  return (whole.has_filename() ? whole : whole.parent_path())
      .filename()
      .string();
}

absl::Status AddOpponents(const CompareSpec& compare, Experiment& experiment) {
  experiment.reference_choice =
      !compare.reference.empty()
          ? "the method that the experiment names (compare.reference)"
      : !compare.chains.empty()
          ? "the chain of a rival's drafter that was fastest on other prompts, "
            "fixed before this run (compare.chains)"
          : "plain decoding, since the experiment names no other";
  return Matcher(compare, experiment).Run();
}

}  // namespace banyan
