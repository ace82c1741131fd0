#include "experiments/plan/opponents.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "configs/loader/yaml.h"
#include "core/prob/draw_kind.h"
#include "decode/host_cause.h"
#include "drafters/catalogue.h"
#include "drafters/draft_vocabulary.h"
#include "experiments/plan/params_edit.h"
#include "experiments/plan/resolve.h"
#include "tree/policies/catalogue.h"
#include "tree/policies/plans.h"
#include "tree/tree_policy.h"

namespace banyan {

namespace {

// Null: the method has no such model.
const NamedModel* Find(const std::vector<NamedModel>& models,
                       const std::string& name) {
  const auto found =
      std::find_if(models.begin(), models.end(),
                   [&](const NamedModel& model) { return model.name == name; });
  return found == models.end() ? nullptr : &*found;
}

// The path that stands at `place`, however it is spelt.
Params PathOf(const Params& place) {
  return Params::Scalar(std::filesystem::path(Beside(place, place.text()))
                            .lexically_normal()
                            .string());
}

// A model's name in a drafter's section, and the path that leads there.
struct ModelName {
  std::string path;
  std::string name;
};

// Those in `value`, however deep: drafters are made of drafters.
void FindModels(const Params& value, const std::string& path,
                const std::vector<NamedModel>& models,
                std::vector<ModelName>& found) {
  if (value.kind() == Params::Kind::kScalar &&
      Find(models, value.text()) != nullptr)
    found.push_back({path, value.text()});
  const std::string before = path.empty() ? "" : absl::StrCat(path, ".");
  for (const Params::Entry& entry : value.entries())
    if (entry.key != "name" && entry.key != kVocabularyKey)
      FindModels(entry.value, absl::StrCat(before, entry.key), models, found);
  for (std::size_t i = 0; i < value.items().size(); ++i)
    FindModels(value.items()[i], absl::StrCat(before, i), models, found);
}

// `value` with every draft vocabulary in it as its path, named or found, as the
// last key of its section; all tokens are no vocabulary.
Params WithPaths(const Params& value, const std::vector<NamedModel>& models) {
  if (value.kind() == Params::Kind::kList) {
    std::vector<Params> items;
    for (const Params& item : value.items())
      items.push_back(WithPaths(item, models));
    return Params::List(std::move(items), value.origin());
  }
  if (value.kind() != Params::Kind::kMap) return value;
  const Params whole = WithVocabulary(value, [&](const std::string& name) {
    const NamedModel* model = Find(models, name);
    // Not of the target's own directory.
    return model == nullptr || model->spec.copy ? nullptr : &model->place;
  });
  std::vector<Params::Entry> entries;
  for (const Params::Entry& entry : whole.entries())
    if (entry.key != kVocabularyKey)
      entries.push_back(
          {entry.key, entry.key_origin, WithPaths(entry.value, models)});
  if (const Params* list = whole.Find(kVocabularyKey);
      list != nullptr && !IsAllTokens(*list))
    entries.push_back({kVocabularyKey, {}, PathOf(*list)});
  return Params::Map(std::move(entries), value.origin());
}

}  // namespace

OneDrafter Alone(const MethodSpec& method, int number,
                 const std::string& target) {
  const Params& drafter = method.drafters[static_cast<std::size_t>(number)];
  const std::string title = DrafterTitle(drafter);
  OneDrafter alone = {.label = title, .section = drafter};
  std::vector<ModelName> names;
  FindModels(drafter, "", method.models, names);
  std::map<std::string, NamedModel> used;
  Params renamed = WithPaths(drafter, method.models);
  std::string weights;
  for (const ModelName& one : names) {
    const NamedModel& model = *Find(method.models, one.name);
    used.emplace(one.name, model);
    alone.label = DrafterLabel(
        title, model.spec.copy ? target : FolderName(model.place.text()));
    // Whatever the model is called, it is this one.
    const absl::StatusOr<Params> other =
        WithValue(renamed, one.path, PathOf(model.place));
    if (!other.ok()) continue;
    renamed = *other;
    if (model.spec.weights != ModelSpec().weights)
      absl::StrAppend(&weights, one.path, " ", model.spec.weights);
  }
  alone.identity = absl::StrCat(ToYaml(renamed), weights);
  for (auto& [name, model] : used) alone.models.push_back(std::move(model));
  return alone;
}

std::vector<OneDrafter> EachAlone(const MethodSpec& method,
                                  const std::string& target) {
  std::vector<OneDrafter> each;
  for (std::size_t i = 0; i < method.drafters.size(); ++i)
    each.push_back(Alone(method, static_cast<int>(i), target));
  return each;
}

CountedDrafter InTables(const OneDrafter& drafter) {
  return {.label = drafter.label, .kind = DrafterTitle(drafter.section)};
}

absl::Status PutStatedCosts(CostQuestion question, MethodSpec& method,
                            std::vector<std::string>& notes) {
  std::vector<CountedDrafter> all;
  for (const TrunkSpec& trunk : method.trunks)
    all.push_back(InTables(Alone(method, trunk.drafter, question.target)));
  for (std::size_t i = 0; i < method.trunks.size(); ++i) {
    PolicySpec& policy = method.trunks[i].policy;
    if (policy.measures() || !policy.includes_costs()) continue;
    BANYAN_RETURN_IF_ERROR(policy.PutStatedCosts(
        question, policy.of_method() ? all : std::vector{all[i]}, notes));
  }
  return absl::OkStatus();
}

MethodSpec MethodOf(const OneDrafter& drafter, PolicySpec policy,
                    Params verifier) {
  MethodSpec method;
  method.place = drafter.section.origin();
  method.models = drafter.models;
  method.drafters = {drafter.section};
  method.trunks.push_back({.drafter = 0, .policy = std::move(policy)});
  method.verifier = std::move(verifier);
  return method;
}

PolicySpec ChainPolicy(int length) { return PolicySpec(ChainSection(length)); }

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

namespace {

constexpr absl::string_view kRounds = "multi_round";
constexpr absl::string_view kBlock = "block";
constexpr absl::string_view kWithoutReplacement = "without_replacement";
constexpr absl::string_view kTraversal = "traversal";

Params Named(absl::string_view verifier) {
  return Params::Map({{"name", {}, Params::Scalar(std::string(verifier))}});
}

// Whether the section is that verifier as it is by default.
bool Is(const Params& section, absl::string_view verifier) {
  return section.entries().size() == 1 && section.Find("name") != nullptr &&
         section.Find("name")->text() == verifier;
}

// Whether this drafter, and each that it is made of, can draw independently, as
// block verification needs it.
bool DrawsIndependently(const Params& section) {
  for (const Params& item : section.items())
    if (!DrawsIndependently(item)) return false;
  for (const Params::Entry& entry : section.entries())
    if (!DrawsIndependently(entry.value)) return false;
  const Params* name = section.Find("name");
  if (name == nullptr) return true;
  for (const DrafterRow& row : DrafterCatalogue())
    if (row.name == name->text())
      return std::find(row.draw_kinds.begin(), row.draw_kinds.end(),
                       DrawKind::kIndependent) != row.draw_kinds.end();
  return true;
}

// What a rival drafts.
struct Drafts {
  std::vector<OneDrafter> drafters;
  int nodes = 0;
  bool chain = false;         // of one drafter
  bool shares_draws = false;  // which traversal cannot judge
};

absl::StatusOr<Drafts> DraftsOf(const MethodSpec& method,
                                const std::string& target) {
  Drafts drafts = {.drafters = EachAlone(method, target)};
  drafts.chain = method.trunks.size() == 1;
  for (const TrunkSpec& trunk : method.trunks) {
    BANYAN_ASSIGN_OR_RETURN(const PolicyChoice choice,
                            BuildPolicy(trunk.policy.section()));
    const PolicyTraits traits = choice.policy->traits();
    drafts.nodes =
        trunk.policy.of_method() ? traits.nodes : drafts.nodes + traits.nodes;
    drafts.chain = drafts.chain && traits.chain;
    drafts.shares_draws = drafts.shares_draws || traits.shares_draws;
  }
  return drafts;
}

}  // namespace

Params ChainVerifier() { return Named(kRounds); }

namespace {

// A predicted length is a guess: those beside it are tried too.
std::vector<int> Neighbours(int length) {
  constexpr int kDoubleFrom = 8;
  if (length >= kDoubleFrom) return {length / 2, 2 * length};
  if (length == 1) return {2};
  return {length - 1, length + 1};
}

class Matcher {
 public:
  Matcher(ChainFinder find, Experiment& out)
      : compare_(*out.compare), find_(find), out_(out) {
    for (std::size_t i = 0; i < out_.cells.size(); ++i) {
      const ExperimentCell& cell = out_.cells[i];
      if (IsRival(cell))
        rivals_.push_back(i);
      else if (!compare_.reference.empty() && cell.method == compare_.reference)
        references_[cell.combination].push_back(static_cast<int>(i));
    }
  }

  absl::Status Run() {
    std::map<std::size_t, Drafts> drafts;  // by rival
    for (std::size_t rival : rivals_) {
      const ExperimentCell& cell = out_.cells[rival];
      BANYAN_ASSIGN_OR_RETURN(
          drafts[rival],
          DraftsOf(cell.spec, FolderName(cell.target.directory)));
      for (const OneDrafter& drafter : drafts[rival].drafters)
        drafters_[cell.combination].push_back(drafter);
    }
    for (const auto& [rival, own] : drafts) {
      BANYAN_RETURN_IF_ERROR(Oppose(rival, own));
      if (HasChains() && compare_.verifiers &&
          GainsByTraversal(out_.cells[rival], own))
        BANYAN_RETURN_IF_ERROR(Oppose(ByTraversal(rival), own));
    }
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

  bool HasChains() const {
    return compare_.measured || !compare_.chains.empty();
  }

  // Whether one verifier may keep more tokens than another: at temperature 0
  // all keep the same, and a device that runs rounds alone judges from the
  // root.
  static bool VerifierMatters(const ExperimentCell& cell) {
    return TemperatureOf(cell) > 0 && cell.spec.rounds != RoundsOn::kDevice;
  }

  // Whether the rival is a tree that is judged from the root, and that
  // traversal verification can judge, which keeps at least as many tokens in
  // expectation.
  static bool GainsByTraversal(const ExperimentCell& cell,
                               const Drafts& drafts) {
    return VerifierMatters(cell) && !drafts.chain && !drafts.shares_draws &&
           (Is(cell.spec.verifier, kRounds) ||
            Is(cell.spec.verifier, kWithoutReplacement));
  }

  // The number of a new cell: the rival judged by traversal.
  std::size_t ByTraversal(std::size_t rival) {
    ExperimentCell cell = out_.cells[rival];
    cell.spec.verifier = Named(kTraversal);
    Note(
        "At temperatures above 0 trees run by traversal verification too: in "
        "expectation it keeps at least as many tokens of a tree as judging "
        "from "
        "the root (compare.verifiers)");
    const std::string method = absl::StrCat(cell.method, " by ", kTraversal);
    return static_cast<std::size_t>(Add(std::move(cell), method));
  }

  absl::Status Oppose(std::size_t rival, const Drafts& drafts) {
    // A copy: cells are added.
    const ExperimentCell cell = out_.cells[rival];
    std::vector<Opponent> opponents;
    BANYAN_RETURN_IF_ERROR(AddReference(cell, opponents));
    if (HasChains() && !drafts.chain)
      for (const OneDrafter& drafter : drafts.drafters) {
        if (drafts.nodes > 0 && compare_.same_size)
          opponents.push_back(
              {CellOf(cell, drafter, drafts.nodes, Predicted(cell, drafter)),
               OpponentRole::kSameNodes});
        BANYAN_ASSIGN_OR_RETURN(const std::optional<ChainLength> best,
                                find_(cell, drafter));
        if (best.has_value())
          AddBest(cell, drafter, best->length, OpponentRole::kFastest,
                  opponents);
        else
          Note(absl::StrCat("compare.chains know no length for drafter ",
                            drafter.label, " on target ",
                            FolderName(cell.target.directory)));
      }
    out_.cells[rival].opponents = std::move(opponents);
    return absl::OkStatus();
  }

  // The verifier that keeps the most tokens of the drafter's chain in
  // expectation.
  static absl::string_view Predicted(const ExperimentCell& cell,
                                     const OneDrafter& drafter) {
    return VerifierMatters(cell) && DrawsIndependently(drafter.section)
               ? kBlock
               : kRounds;
  }

  // A drafter's best chain, the same by multi_round where another verifier is
  // predicted to be better and, where the length is predicted, its neighbours.
  void AddBest(const ExperimentCell& cell, const OneDrafter& drafter,
               int length, OpponentRole role,
               std::vector<Opponent>& opponents) {
    const absl::string_view verifier = Predicted(cell, drafter);
    opponents.push_back({CellOf(cell, drafter, length, verifier), role});
    if (compare_.verifiers && verifier != kRounds)
      opponents.push_back(
          {CellOf(cell, drafter, length, kRounds), OpponentRole::kNeighbour});
    if (!compare_.measured || !compare_.neighbours) return;
    for (const int other : Neighbours(length))
      opponents.push_back(
          {CellOf(cell, drafter, other, verifier), OpponentRole::kNeighbour});
  }

  absl::Status AddReference(const ExperimentCell& cell,
                            std::vector<Opponent>& opponents) {
    if (!compare_.reference.empty()) {
      const std::vector<int>& found = references_[cell.combination];
      if (found.size() != 1)
        return ErrorAt(
            compare_.reference_place,
            absl::StrCat("compare.reference: method ", compare_.reference,
                         " has ", found.size(), " cells beside ", cell.name,
                         ", expected one"));
      opponents.push_back({found.front(), OpponentRole::kReference});
      return absl::OkStatus();
    }
    const OneDrafter* best = nullptr;
    std::optional<ChainLength> length;
    for (const OneDrafter& drafter : drafters_[cell.combination]) {
      BANYAN_ASSIGN_OR_RETURN(std::optional<ChainLength> own,
                              find_(cell, drafter));
      if (!own.has_value() ||
          (length.has_value() && own->speed <= length->speed))
        continue;
      best = &drafter;
      length = std::move(own);
    }
    if (best == nullptr)
      opponents.push_back({cell.baseline, OpponentRole::kReference});
    else
      AddBest(cell, *best, length->length, OpponentRole::kReference, opponents);
    return absl::OkStatus();
  }

  // The number of a chain's cell, made if there is none.
  int CellOf(const ExperimentCell& rival, const OneDrafter& drafter, int length,
             absl::string_view verifier) {
    ExperimentCell cell = rival;
    cell.spec = MethodOf(drafter, ChainPolicy(length), Named(verifier));
    cell.spec.rounds = rival.spec.rounds;
    cell.axes.resize(rival.shared_axes);
    cell.opponents.clear();
    const std::string key = absl::StrCat(rival.combination, " ", length, " ",
                                         verifier, " ", drafter.identity);
    const auto [at, is_new] =
        chains_.emplace(key, static_cast<int>(out_.cells.size()));
    if (!is_new) return at->second;
    if (verifier == kBlock)
      Note(
          "At temperatures above 0 chains are judged by block verification, "
          "which keeps the most tokens in expectation, where the drafter's "
          "draws allow it");
    return Add(std::move(cell),
               absl::StrCat(
                   "chain-", length, " ", drafter.label,
                   verifier == kRounds ? "" : absl::StrCat(" by ", verifier)));
  }

  // Adds the cell under the method's name, or one that is free, and returns its
  // number.
  int Add(ExperimentCell cell, const std::string& method) {
    for (int other = 2;; ++other) {  // another drafter of the same name
      cell.method = other == 2 ? method : absl::StrCat(method, "-", other - 1);
      cell.name = CellName(cell.method, cell.axes);
      const bool taken = std::any_of(
          out_.cells.begin(), out_.cells.end(),
          [&](const ExperimentCell& own) { return own.name == cell.name; });
      if (!taken) break;
    }
    out_.cells.push_back(std::move(cell));
    return static_cast<int>(out_.cells.size()) - 1;
  }

  void Note(std::string note) {
    if (noted_.insert(note).second) out_.notes.push_back(std::move(note));
  }

  const CompareSpec& compare_;
  ChainFinder find_;
  Experiment& out_;
  std::vector<std::size_t> rivals_;
  std::map<int, std::vector<int>> references_;       // by combination
  std::map<int, std::vector<OneDrafter>> drafters_;  // by combination
  std::map<std::string, int> chains_;
  std::set<std::string> noted_;
};

}  // namespace

absl::Status AddOpponents(Experiment& experiment) {
  // At the nearest temperature that is known.
  const auto find = [&](const ExperimentCell& cell, const OneDrafter& drafter)
      -> absl::StatusOr<std::optional<ChainLength>> {
    std::optional<ChainLength> found;
    for (const ChainLength& length : experiment.compare->chains) {
      if (length.target != FolderName(cell.target.directory) ||
          length.drafter != drafter.label)
        continue;
      const auto off = [&](const ChainLength& other) {
        return std::fabs(other.temperature - TemperatureOf(cell));
      };
      if (!found.has_value() || off(length) < off(*found)) found = length;
    }
    return found;
  };
  return AddOpponents(find, experiment);
}

absl::Status AddOpponents(ChainFinder find, Experiment& experiment) {
  const CompareSpec& compare = *experiment.compare;
  experiment.reference_choice =
      !compare.reference.empty()
          ? "the method that the experiment names (compare.reference)"
      : compare.measured
          ? absl::StrCat(
                "the chain that was predicted to be the fastest, before this "
                "run, from acceptance on other prompts and this machine's "
                "costs",
                compare.neighbours ? "" : "; no neighbouring length was run",
                compare.same_size
                    ? ""
                    : "; nor was a chain of as many nodes as a tree drafts")
      : !compare.chains.empty()
          ? "the chain of a rival's drafter that was fastest on other prompts, "
            "fixed before this run (compare.chains)"
          : "plain decoding, since the experiment names no other";
  return Matcher(find, experiment).Run();
}

}  // namespace banyan
