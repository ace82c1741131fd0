#include "experiments/plan/read_experiment.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "configs/loader/yaml.h"
#include "core/base/bytes.h"
#include "core/base/common.h"
#include "core/prob/sampling_rule.h"
#include "core/tokenizer/chat_template.h"
#include "experiments/plan/axes.h"
#include "experiments/plan/costs.h"
#include "experiments/plan/made_for.h"
#include "experiments/plan/measured.h"
#include "experiments/plan/method_spec.h"
#include "experiments/plan/opponents.h"
#include "experiments/plan/params_edit.h"
#include "experiments/plan/read_method.h"

namespace banyan {
namespace {

// Prompts decoded at a time: more than a machine has memory for.
constexpr int kMostTogether = 1024;

using Axes = std::vector<std::pair<std::string, std::string>>;

// The top-level sections, with every setting in them; null: none.
struct Sections {
  const Params* target = nullptr;
  const Params* workload = nullptr;
  const Params* methods = nullptr;
  const Params* models = nullptr;
  const Params* sampling = nullptr;
  const Params* limits = nullptr;
  const Params* matrix = nullptr;
  const Params* compare = nullptr;
  const Params* costs = nullptr;
  int batch = 1;
  std::optional<RoundsOn> rounds;
  std::vector<std::string> seeds = {"0"};
  std::string question;
};

Sections ReadSections(const Params& file, Errors& errors) {
  ParamsReader in(file, "experiment");
  Sections sections;
  in.Required("question", sections.question);
  sections.target = in.TakeRequired("target");
  sections.workload = in.TakeRequired("workload");
  sections.methods = in.TakeRequired("methods");
  in.Optional("seeds", sections.seeds);
  in.Ensure(!sections.seeds.empty(), "seeds", "must hold a seed");
  in.Optional("batch", sections.batch);
  in.Ensure(sections.batch >= 1 && sections.batch <= kMostTogether, "batch",
            absl::StrCat("must be from 1 to ", kMostTogether));
  TakeRounds(in, sections.rounds);
  sections.models = in.Take("models");
  sections.sampling = in.Take("sampling");
  sections.limits = in.Take("limits");
  sections.matrix = in.Take("matrix");
  sections.compare = in.Take("compare");
  sections.costs = in.Take("costs");
  if (const Params* old = in.Take("acceptance"))
    in.Note(old->Error(
        "'acceptance' is now 'costs', a file that `banyan measure` writes"));
  errors.Add(in.Finish());
  const auto check_map = [&](const Params*& section, absl::string_view of) {
    if (section == nullptr || section->kind() == Params::Kind::kMap) return;
    errors.Add(section->Expected(absl::StrCat("a map from names to ", of)));
    section = nullptr;
  };
  check_map(sections.methods, "methods");
  check_map(sections.models, "models");
  return sections;
}

WorkloadSpec ReadWorkloadSpec(const Params& section, Errors& errors) {
  ParamsReader in(section, "workload");
  WorkloadSpec spec;
  spec.section = section;
  Params file;
  in.Required("file", file);
  in.Optional("kinds", spec.kinds);
  if (const Params* groups = in.Take("groups")) {
    if (groups->kind() != Params::Kind::kMap)
      in.Note(groups->Expected("a map from names to lists of kinds"));
    for (const Params::Entry& entry : groups->entries())
      in.Note(Convert(entry.value, spec.groups[entry.key]));
  }
  in.Optional("prompts", spec.prompts);
  if (in.Optional("chat", spec.chat) && spec.chat != kOwnTemplate) {
    const auto known = ChatTemplate::Named(spec.chat);
    if (!known.ok())
      in.Note(section.Find("chat")->Error(known.status().message()));
  }
  in.Ensure(spec.prompts >= 0, "prompts", "must not be negative; 0 is all");
  in.Optional("offset", spec.offset);
  in.Ensure(spec.offset >= 0, "offset", "must not be negative");
  if (section.Find("file") != nullptr) in.Note(Convert(file, spec.file));
  spec.file = Beside(file, spec.file);
  errors.Add(in.Finish());
  return spec;
}

// Null: none.
std::vector<std::string> KeysOf(const Params* map) {
  std::vector<std::string> keys;
  if (map == nullptr) return keys;
  for (const Params::Entry& entry : map->entries()) keys.push_back(entry.key);
  return keys;
}

// What the cells of one combination share.
ExperimentCell ReadCommon(const Sections& sections, Errors& errors) {
  ExperimentCell cell;
  if (sections.target != nullptr) {
    ParamsReader in(*sections.target, "target");
    cell.target = TakeModelSpec(in);
    cell.target_place = sections.target->PlaceOf("directory");
    errors.Add(in.Finish());
  }
  cell.max_new_tokens = 64;
  cell.batch = sections.batch;
  cell.spec.rounds = sections.rounds;
  if (sections.limits != nullptr) {
    ParamsReader in(*sections.limits, "limits");
    in.Optional("max_new_tokens", cell.max_new_tokens);
    in.Ensure(cell.max_new_tokens >= 1, "max_new_tokens", "must be at least 1");
    in.Optional("ignore_eos", cell.ignore_eos);
    errors.Add(in.Finish());
  }
  if (sections.sampling != nullptr) {
    errors.Add(SamplingRule::FromParams(*sections.sampling).status());
    cell.sampling.assign(sections.sampling->entries().begin(),
                         sections.sampling->entries().end());
  }
  return cell;
}

// The experiment's models instead of a method's own of the same names.
absl::Status PutModels(const Params* models, MethodSpec& method,
                       std::set<std::string>& used) {
  if (models == nullptr) return absl::OkStatus();
  for (const Params::Entry& entry : models->entries())
    for (NamedModel& own : method.models) {
      if (own.name != entry.key) continue;
      used.insert(entry.key);
      BANYAN_ASSIGN_OR_RETURN(NamedModel other, ReadNamedModel(entry));
      other.name_place = own.name_place;
      own = std::move(other);
    }
  return absl::OkStatus();
}

class Expander {
 public:
  Expander(const Params& root, std::vector<MatrixAxis> axes, Experiment& out,
           Errors& errors)
      : root_(root), axes_(std::move(axes)), out_(out), errors_(errors) {}

  void Run() {
    std::vector<const MatrixAxis*> common;
    for (const MatrixAxis& axis : axes_) {
      errors_.Add(CheckMethod(axis));
      if (axis.method.empty()) common.push_back(&axis);
    }
    ForEachCombination(common,
                       [&](const std::vector<const AxisValue*>& values) {
                         errors_.Add(Combine(common, values));
                       });
    if (errors_.empty()) errors_.Add(CheckModels());
  }

 private:
  absl::Status CheckMethod(const MatrixAxis& axis) const {
    const Params* methods = root_.Find("methods");
    if (axis.method.empty() || methods == nullptr ||
        methods->Find(axis.method) != nullptr)
      return absl::OkStatus();
    std::vector<absl::string_view> known;
    for (const Params::Entry& entry : methods->entries())
      known.emplace_back(entry.key);
    return axis.values.front().settings.front().value.Error(
        UnknownName("method", axis.method, known));
  }

  // Every model that the experiment or an axis names was some method's.
  absl::Status CheckModels() const {
    for (const auto& [name, origin] : named_models_)
      if (used_models_.count(name) == 0)
        return ErrorAt(origin,
                       absl::StrCat("no method has a model '", name, "'"));
    return absl::OkStatus();
  }

  // What a method file may say that would make the method unlike its baseline,
  // or would do nothing here.
  static absl::Status CheckMethodKeys(const Params& section) {
    if (const Params* own = section.Find("sampling"))
      return own->Error(
          "a method of an experiment has no sampling of its own: the "
          "experiment's holds for its baseline too");
    if (const Params* own = section.Find("chat_template"))
      return own->Error(
          "an experiment's `workload.chat` says how chats are "
          "written");
    return absl::OkStatus();
  }

  static absl::StatusOr<Params> Apply(
      const Params& root, const std::vector<const AxisValue*>& values) {
    Params result = root;
    for (const AxisValue* value : values)
      for (const Setting& setting : value->settings) {
        BANYAN_ASSIGN_OR_RETURN(result,
                                WithValue(result, setting.path, setting.value));
      }
    return result;
  }

  static void Label(const std::vector<const MatrixAxis*>& axes,
                    const std::vector<const AxisValue*>& values, Axes& labels) {
    for (std::size_t i = 0; i < axes.size(); ++i)
      labels.emplace_back(axes[i]->name, values[i]->label);
  }

  absl::Status Combine(const std::vector<const MatrixAxis*>& axes,
                       const std::vector<const AxisValue*>& values) {
    BANYAN_ASSIGN_OR_RETURN(const Params root, Apply(root_, values));
    const Sections sections = ReadSections(root, errors_);
    const ExperimentCell common = ReadCommon(sections, errors_);
    if (sections.models != nullptr)
      for (const Params::Entry& entry : sections.models->entries())
        named_models_.emplace(entry.key, entry.key_origin);
    for (const std::string& seed : sections.seeds) {
      ExperimentCell cell = common;
      Label(axes, values, cell.axes);
      if (!absl::SimpleAtoi(seed, &cell.seed))
        return root.Find("seeds")->Error(absl::StrCat(
            "expected whole numbers from 0 to 2^64 - 1, found '", seed, "'"));
      if (sections.seeds.size() > 1) cell.axes.emplace_back("seed", seed);
      cell.combination = combinations_++;
      cell.shared_axes = cell.axes.size();
      cell.baseline = Baseline(cell, sections);
      if (sections.methods == nullptr) continue;
      for (const Params::Entry& method : sections.methods->entries())
        AddMethod(root, method.key, cell);
    }
    return absl::OkStatus();
  }

  // The number of the baseline of `cell`, made if there is none.
  int Baseline(const ExperimentCell& cell, const Sections& sections) {
    const auto text = [](const Params* section) {
      return section == nullptr ? std::string() : ToYaml(*section);
    };
    const std::string key =
        absl::StrCat(cell.seed, "\n", cell.batch, "\n",
                     Name(cell.spec.rounds.value_or(RoundsOn::kAuto)), "\n",
                     text(sections.target), "\n", text(sections.sampling), "\n",
                     text(sections.limits));
    const auto [at, is_new] =
        baselines_.emplace(key, static_cast<int>(out_.cells.size()));
    if (is_new) {
      ExperimentCell plain = cell;
      plain.axes = OfBaselines(plain.axes);
      plain.method = kPlainMethod;
      plain.baseline = at->second;
      Add(std::move(plain));
    }
    return at->second;
  }

  // Without the axes that change nothing but methods.
  Axes OfBaselines(const Axes& labels) const {
    Axes kept;
    for (const auto& label : labels) {
      const auto axis = std::find_if(
          axes_.begin(), axes_.end(),
          [&](const MatrixAxis& own) { return own.name == label.first; });
      if (axis == axes_.end() || ConcernsBaselines(*axis))
        kept.push_back(label);
    }
    return kept;
  }

  void AddMethod(const Params& root, const std::string& name,
                 const ExperimentCell& common) {
    std::vector<const MatrixAxis*> own;
    for (const MatrixAxis& axis : axes_)
      if (axis.method == name) own.push_back(&axis);
    ForEachCombination(own, [&](const std::vector<const AxisValue*>& values) {
      ExperimentCell cell = common;
      Label(own, values, cell.axes);
      cell.method = name;
      errors_.Add(AddCell(root, values, std::move(cell)));
    });
  }

  absl::Status AddCell(const Params& root,
                       const std::vector<const AxisValue*>& values,
                       ExperimentCell cell) {
    BANYAN_ASSIGN_OR_RETURN(const Params with, Apply(root, values));
    const Params& section = *with.Find("methods")->Find(cell.method);
    if (section.kind() == Params::Kind::kNull)
      return absl::OkStatus();  // left out
    BANYAN_RETURN_IF_ERROR(CheckMethodKeys(section));
    const std::optional<RoundsOn> rounds = cell.spec.rounds;
    cell.spec = ReadMethodSpec(section);
    if (!cell.spec.rounds.has_value()) cell.spec.rounds = rounds;
    BANYAN_RETURN_IF_ERROR(
        PutModels(with.Find("models"), cell.spec, used_models_));
    BANYAN_RETURN_IF_ERROR(finder_.Fit(cell.target.directory, cell.spec));
    BANYAN_RETURN_IF_ERROR(
        PutStatedCosts({.target = FolderName(cell.target.directory),
                        .weights = StatedWeights(cell.target),
                        .memory = cell.target.memory,
                        .temperature = TemperatureOf(cell),
                        .batch = cell.batch},
                       cell.spec, out_.notes));
    if (cell.batch > 1)
      for (TrunkSpec& trunk : cell.spec.trunks)
        trunk.policy.SetBatch(cell.batch);
    Add(std::move(cell));
    return absl::OkStatus();
  }

  void Add(ExperimentCell cell) {
    cell.name = CellName(cell.method, cell.axes);
    out_.cells.push_back(std::move(cell));
  }

  const Params& root_;
  std::vector<MatrixAxis> axes_;
  Experiment& out_;
  Errors& errors_;
  DrafterFinder finder_;
  int combinations_ = 0;
  std::map<std::string, int> baselines_;
  std::map<std::string, Origin> named_models_;
  std::set<std::string> used_models_;
};

absl::Status CheckNames(const Experiment& experiment, const Params& file) {
  std::set<std::string> names;
  for (const ExperimentCell& cell : experiment.cells)
    if (!names.insert(cell.name).second)
      return file.Error(absl::StrCat("two cells are called '", cell.name,
                                     "': give the axis other labels"));
  return absl::OkStatus();
}

// A turn of a chat waits for the answer before it.
absl::Status CheckTogether(const Experiment& experiment, const Params& root) {
  if (experiment.workload.chat.empty()) return absl::OkStatus();
  for (const ExperimentCell& cell : experiment.cells)
    if (cell.batch > 1)
      return root.Find("workload")
          ->Find("chat")
          ->Error(absl::StrCat("chats are decoded one at a time, and cell ",
                               cell.name, " has a batch of ", cell.batch));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::pair<std::string, Params>> ReadSetting(
    const std::string& text) {
  const auto equals = text.find('=');
  // Without the value, whose slashes would be taken for a folder's.
  const std::string place = absl::StrCat("--set ", text.substr(0, equals));
  if (equals == std::string::npos || equals == 0)
    return absl::InvalidArgumentError(
        absl::StrCat(place, ": expected PATH=VALUE"));
  const std::string path = text.substr(0, equals);
  const std::string value = text.substr(equals + 1);
  if (value.empty())
    return absl::InvalidArgumentError(absl::StrCat(
        place, ": expected a value after =, found none; ~ is none"));
  if (value == "~" || value == "null") return std::pair(path, Params());
  BANYAN_ASSIGN_OR_RETURN(Params parsed, ParseYaml(value, place));
  return std::pair(path, std::move(parsed));
}

Experiment ReadExperiment(const Params& file, const Settings& settings,
                          Errors& errors) {
  Experiment experiment;
  absl::StatusOr<Params> resolved = Resolve(file, settings);
  errors.Add(resolved.status());
  if (!resolved.ok()) return experiment;
  const Params root = *std::move(resolved);
  experiment.resolved = ToYaml(AsNamedFrom(root, file));
  experiment.hash = absl::StrFormat("%016x", Fnv1a(experiment.resolved));
  const Sections sections = ReadSections(root, errors);
  experiment.question = sections.question;
  if (sections.workload != nullptr)
    experiment.workload = ReadWorkloadSpec(*sections.workload, errors);
  absl::StatusOr<std::vector<MatrixAxis>> axes = ReadAxes(sections.matrix);
  errors.Add(axes.status());
  if (!axes.ok()) axes = std::vector<MatrixAxis>();
  errors.Add(CheckAxes(*axes, settings, root));
  const absl::Status cells =
      CheckCells(*axes, KeysOf(sections.methods), sections.seeds.size(),
                 sections.matrix == nullptr ? root : *sections.matrix);
  errors.Add(cells);
  if (!cells.ok()) return experiment;
  Expander(root, *std::move(axes), experiment, errors).Run();
  if (sections.costs != nullptr) {
    absl::StatusOr<Costs> costs = ReadCosts(*sections.costs);
    errors.Add(costs.status());
    if (costs.ok()) experiment.costs = *std::move(costs);
  }
  experiment.measured = HasMeasured(experiment);
  if (sections.compare != nullptr && sections.methods != nullptr) {
    absl::StatusOr<CompareSpec> compare =
        ReadCompare(*sections.compare, *sections.methods);
    errors.Add(compare.status());
    if (compare.ok()) {
      experiment.compare = *std::move(compare);
      experiment.measured |= experiment.compare->measured;
    }
    if (errors.empty() && !experiment.measured)
      errors.Add(AddOpponents(experiment));
  }
  errors.Add(CheckNames(experiment, file));
  errors.Add(CheckTogether(experiment, root));
  return experiment;
}

absl::StatusOr<Experiment> ReadExperiment(const Params& file,
                                          const Settings& settings) {
  Errors errors;
  Experiment experiment = ReadExperiment(file, settings, errors);
  BANYAN_RETURN_IF_ERROR(errors.status());
  return experiment;
}

}  // namespace banyan
