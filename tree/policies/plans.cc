#include "tree/policies/plans.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "core/base/keys.h"
#include "core/base/status_macros.h"
#include "tree/optimize/cost_curve.h"
#include "tree/optimize/hardware.h"
#include "tree/optimize/medusa.h"
#include "tree/optimize/sequoia.h"
#include "tree/optimize/shape.h"
#include "tree/paths_json.h"
#include "tree/policies/bounds.h"
#include "tree/policies/calibration_keys.h"
#include "tree/policies/row.h"
#include "tree/policies/shape_plan.h"

namespace banyan {
namespace {

// The numbers at `key`, or those of that name in a calibration: what `banyan
// calibrate` writes. Returns whether there are any.
template <typename T>
bool TakeMeasured(ParamsReader& in, const char* key, std::vector<T>& out) {
  const Params* calibration = in.Take("calibration");
  if (calibration == nullptr) {
    const Params* stated = in.Take(key);
    if (stated != nullptr) in.Note(Convert(*stated, out));
    return stated != nullptr;
  }
  in.Note(CheckCalibration(*calibration));
  const Params* measured = calibration->Find(key);
  in.Ensure(measured != nullptr, "calibration",
            absl::StrCat("has no '", key, "'"));
  in.Ensure(in.section().Find(key) == nullptr, "calibration",
            absl::StrCat("and '", key, "' exclude each other"));
  in.Take(key);
  if (measured != nullptr) in.Note(Convert(*measured, out));
  return true;
}

template <typename Options>
void AddCalibration(Keys<Options>& keys, const std::string& key) {
  keys.Described("calibration", "section",
                 "A file that `banyan calibrate` wrote, for `" + key + "`.");
}

// The optimisers know nothing of files: their errors get the section's place.
absl::Status At(const ParamsReader& in, const absl::Status& error) {
  return in.section().Error(in.what() + ": " + std::string(error.message()));
}

absl::StatusOr<ShapePlan> Rated(const ParamsReader& in,
                                absl::StatusOr<RatedShape> rated) {
  if (!rated.ok()) return At(in, rated.status());
  return ShapePlan{.shape = std::move(rated->shape),
                   .expected_tokens = rated->expected_tokens};
}

absl::StatusOr<ShapePlan> FromPaths(const ParamsReader& in,
                                    std::vector<std::vector<int>> paths) {
  absl::StatusOr<Shape> shape = Shape::FromPaths(std::move(paths));
  if (!shape.ok()) return At(in, shape.status());
  return ShapePlan{.shape = *std::move(shape)};
}

absl::StatusOr<ShapePlan> FromFile(const ParamsReader& in,
                                   const std::string& file,
                                   const std::string& tree) {
  std::string name = Beside(*in.section().Find("file"), file);
  absl::StatusOr<std::vector<std::vector<int>>> paths =
      ReadPathsFile(name, tree);
  if (!paths.ok()) return At(in, paths.status());
  BANYAN_ASSIGN_OR_RETURN(ShapePlan plan, FromPaths(in, *std::move(paths)));
  plan.file = std::move(name);
  return plan;
}

absl::StatusOr<ShapePlan> ForHardware(const ParamsReader& in,
                                      const HardwareSection& section) {
  BANYAN_ASSIGN_OR_RETURN(const HardwareOptions options, ReadHardware(section));
  absl::StatusOr<HardwareChoice> choice = FastestTree(options);
  if (!choice.ok()) return At(in, choice.status());
  return ShapePlan{.shape = choice->shape,
                   .expected_tokens = choice->expected_tokens,
                   .choice = *choice};
}

struct Options {  // of chain, expansion and static
  int nodes = 0;
  std::vector<int> branching;
  bool share_draws = false;
  std::vector<std::vector<int>> paths;
  std::string file;
  std::string tree;
};

absl::StatusOr<ShapePlan> PlanChain(ParamsReader& in, const Options& options) {
  in.Ensure(options.nodes >= 0, "nodes", "must not be negative");
  EnsureDraws(in, "nodes", options.nodes);
  BANYAN_RETURN_IF_ERROR(in.Finish());
  return ShapePlan{.shape = Shape::Chain(options.nodes)};
}

absl::StatusOr<ShapePlan> PlanExpansion(ParamsReader& in, Options options) {
  const int nodes = options.nodes;
  std::vector<int>& branching = options.branching;
  in.Ensure(nodes >= 0, "nodes", "must not be negative");
  EnsureDraws(in, "nodes", nodes);
  BANYAN_RETURN_IF_ERROR(in.Finish());
  if (in.Has("branching") == in.Has("nodes"))
    return in.section().Error(in.what() +
                              ": expected one of branching and nodes");
  if (in.Has("nodes")) {
    branching.assign(static_cast<std::size_t>(nodes > 1 ? nodes / 2 : nodes),
                     1);
    if (nodes > 1) branching.front() = 2;
  }
  absl::StatusOr<Shape> shape = Shape::FromBranching(branching);
  if (!shape.ok()) return At(in, shape.status());
  return ShapePlan{.shape = *std::move(shape),
                   .share_draws = options.share_draws};
}

absl::StatusOr<ShapePlan> PlanStatic(ParamsReader& in, Options options) {
  MedusaOptions medusa = {.nodes = options.nodes};
  const bool has_accuracies = TakeMeasured(in, "accuracies", medusa.accuracies);
  BANYAN_RETURN_IF_ERROR(in.Finish());
  if (in.Has("paths") + in.Has("file") + has_accuracies != 1)
    return in.section().Error(
        in.what() + ": expected exactly one of paths, file and accuracies");
  if (has_accuracies != in.Has("nodes"))
    return in.section().Error(in.what() +
                              ": nodes belongs to accuracies, and needs them");
  if (has_accuracies) return Rated(in, GreedyTree(medusa));
  if (in.Has("file")) return FromFile(in, options.file, options.tree);
  return FromPaths(in, std::move(options.paths));
}

Keys<HardwareSection> KeysOfHardware() {
  using Section = HardwareSection;
  Keys<Section> keys;
  AddCalibration(keys, "acceptance");
  keys.Described(
      {.name = "acceptance",
       .type = "list of number",
       .required = true,
       .sentence = "The acceptance rate by rank, the first child first."});
  keys.Required("nodes", &Section::nodes, "The most nodes that are drafted.");
  keys.Optional("levels", &Section::levels, "The most levels; 0: no limit.");
  keys.Optional("width", &Section::width,
                "The most children of a node; 0: no limit.");
  keys.AtLeast("batch", &Section::batch, 1,
               "Sequences that share every pass, whose tokens it then has; an "
               "experiment gives its own.");
  keys.Described("target_ms", "map from int to number",
                 "Milliseconds of a target pass, by its tokens: the tree of "
                 "best predicted speed is chosen.");
  keys.Described("draft_ms", "number or map",
                 "Milliseconds of a drafted level, or a curve by its width.");
  return keys;
}

}  // namespace

std::vector<KeyRow> HardwareKeys() { return KeysOfHardware().Rows(); }

HardwareSection TakeHardware(ParamsReader& in) {
  HardwareSection section;
  if (!TakeMeasured(in, "acceptance", section.acceptance))
    in.TakeRequired("acceptance");
  KeysOfHardware().Read(in, section);
  EnsureDraws(in, "nodes", section.nodes);
  section.target_ms = in.Take("target_ms");
  section.draft_ms = in.Take("draft_ms");
  const Params* calibration = in.section().Find("calibration");
  if (section.draft_ms == nullptr && section.target_ms != nullptr &&
      calibration != nullptr)
    section.draft_ms = calibration->Find("draft_ms");
  return section;
}

absl::StatusOr<HardwareOptions> ReadHardware(const HardwareSection& section) {
  HardwareOptions options = {.limits = section, .sequences = section.batch};
  BANYAN_ASSIGN_OR_RETURN(
      options.target_ms,
      CostCurve::FromParams("target_ms", *section.target_ms));
  const Params* draft_ms = section.draft_ms;
  if (draft_ms != nullptr && draft_ms->kind() == Params::Kind::kMap) {
    BANYAN_ASSIGN_OR_RETURN(options.draft_ms,
                            CostCurve::FromParams("draft_ms", *draft_ms));
  } else if (draft_ms != nullptr) {
    double a_level = 0;
    BANYAN_RETURN_IF_ERROR(Convert(*draft_ms, a_level));
    options.draft_ms = a_level;
  }
  return options;
}

namespace {

absl::StatusOr<ShapePlan> PlanSequoia(ParamsReader& in) {
  const HardwareSection section = TakeHardware(in);
  BANYAN_RETURN_IF_ERROR(in.Finish());
  if (section.target_ms != nullptr) return ForHardware(in, section);
  if (section.draft_ms != nullptr)
    return section.draft_ms->Error(in.what() + ": draft_ms needs target_ms");
  return Rated(in, BestTree(section));
}

}  // namespace

Params ChainSection(int nodes) {
  return Params::Map(
      {{"name", {}, Params::Scalar(std::string(ChainRow().name))},
       {"nodes", {}, Params::Scalar(absl::StrCat(nodes))}});
}

Params RootSection(int draws) {
  return Params::Map(
      {{"name", {}, Params::Scalar(std::string(ExpansionRow().name))},
       {"branching", {}, Params::List({Params::Scalar(absl::StrCat(draws))})}});
}

PolicyRow ChainRow() {
  Keys<Options> keys;
  keys.Required("nodes", &Options::nodes, "The tokens that are drafted.");
  return {.name = "chain",
          .sentence = "A chain of that many nodes.",
          .keys = keys.Rows(),
          .plan = keys.ReadFor(PlanChain),
          .sizes = {.nodes = true},
          .renamed = {{"gamma", "nodes"}},
          .examples = {"{nodes: 0}", "{nodes: 1}", "{nodes: 2}", "{nodes: 3}"}};
}

PolicyRow ExpansionRow() {
  Keys<Options> keys;
  keys.Optional("branching", &Options::branching,
                "The draws of a node, by level.");
  keys.Optional(
      "nodes", &Options::nodes,
      "In the place of `branching`: the root draws two, every other node one, "
      "to that many nodes or one fewer; 1 is a chain.");
  keys.Optional("share_draws", &Options::share_draws,
                "Whether the nodes of a level use one set of draws.");
  return {.name = "expansion",
          .sentence =
              "SpecInfer's <k1, ..., km>: every node of level i draws ki "
              "tokens.",
          .keys = keys.Rows(),
          .plan = keys.ReadFor(PlanExpansion),
          .sizes = {.nodes = true},
          .instead_of_nodes = {"branching"},
          .examples = {"{branching: [2]}", "{branching: [3]}",
                       "{branching: [1, 2]}", "{branching: [2, 1]}",
                       "{branching: [2, 2]}"}};
}

PolicyRow StaticRow() {
  Keys<Options> keys;
  keys.Optional("paths", &Options::paths, "Lists of child ranks from 0.");
  keys.Optional("file", &Options::file,
                "A JSON file of paths, beside this one.");
  keys.Optional("tree", &Options::tree, "Which of the file's trees.")
      .OnlyWith("file");
  AddCalibration(keys, "accuracies");
  keys.Described("accuracies", "list of lists of number",
                 "By head and rank, for a tree of that many `nodes`.");
  keys.Optional("nodes", &Options::nodes, "The nodes, with `accuracies`.");
  return {.name = "static",
          .sentence =
              "A static tree (Medusa): stated paths, a file of them, or grown "
              "greedily from head accuracies.",
          .keys = keys.Rows(),
          .plan = keys.ReadFor(PlanStatic),
          .sizes = {.nodes = true},
          .renamed = {{"budget", "nodes"}},
          .examples = {"{paths: [[0], [1], [0, 0]]}",
                       "{accuracies: [[0.6, 0.2], [0.5, 0.1]], nodes: 3}"}};
}

PolicyRow SequoiaRow() {
  return {.name = "sequoia",
          .sentence =
              "Sequoia: the best tree for a measured acceptance by rank, and "
              "on measured hardware its best size.",
          .keys = HardwareKeys(),
          .plan = PlanSequoia,
          .sizes = {.nodes = true, .levels = true, .width = true},
          .takes_costs = true,
          .renamed = {{"budget", "nodes"},
                      {"max_depth", "levels"},
                      {"max_branching", "width"}},
          .examples = {"{acceptance: [0.6, 0.2], nodes: 3}",
                       "{acceptance: [0.6, 0.2], nodes: 3, levels: 1}"}};
}

}  // namespace banyan
