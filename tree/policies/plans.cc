#include "tree/policies/plans.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "core/base/params.h"
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
  in.Describe(
      "calibration", "section",
      absl::StrCat("A file that `banyan calibrate` wrote, for `", key, "`."));
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

absl::StatusOr<ShapePlan> FromFile(const ParamsReader& in, const Params& file,
                                   const std::string& tree) {
  std::string name;
  BANYAN_RETURN_IF_ERROR(Convert(file, name));
  name = Beside(file, name);
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

absl::StatusOr<ShapePlan> PlanChain(ParamsReader& in) {
  int nodes = 0;
  in.Required("nodes", nodes, "The tokens that are drafted.");
  in.Ensure(nodes >= 0, "nodes", "must not be negative");
  EnsureDraws(in, "nodes", nodes);
  BANYAN_RETURN_IF_ERROR(in.Finish());
  return ShapePlan{.shape = Shape::Chain(nodes)};
}

absl::StatusOr<ShapePlan> PlanExpansion(ParamsReader& in) {
  std::vector<int> branching;
  int nodes = 0;
  bool share_draws = false;
  const bool has_branching =
      in.Optional("branching", branching, "The draws of a node, by level.");
  const bool has_nodes = in.Optional(
      "nodes", nodes,
      "In the place of `branching`: the root draws two, every other node one, "
      "to that many nodes or one fewer; 1 is a chain.");
  in.Ensure(nodes >= 0, "nodes", "must not be negative");
  EnsureDraws(in, "nodes", nodes);
  in.Optional("share_draws", share_draws,
              "Whether the nodes of a level use one set of draws.");
  BANYAN_RETURN_IF_ERROR(in.Finish());
  if (has_branching == has_nodes)
    return in.section().Error(in.what() +
                              ": expected one of branching and nodes");
  if (has_nodes) {
    branching.assign(static_cast<std::size_t>(nodes > 1 ? nodes / 2 : nodes),
                     1);
    if (nodes > 1) branching.front() = 2;
  }
  absl::StatusOr<Shape> shape = Shape::FromBranching(branching);
  if (!shape.ok()) return At(in, shape.status());
  return ShapePlan{.shape = *std::move(shape), .share_draws = share_draws};
}

absl::StatusOr<ShapePlan> PlanStatic(ParamsReader& in) {
  std::vector<std::vector<int>> paths;
  MedusaOptions medusa;
  std::string tree;
  const bool has_paths =
      in.Optional("paths", paths, "Lists of child ranks from 0.");
  const Params* file = in.Take("file");
  in.Describe("file", "text", "A JSON file of paths, beside this one.");
  in.Ensure(!in.Optional("tree", tree, "Which of the file's trees.") ||
                file != nullptr,
            "tree", "belongs to file, and needs it");
  const bool has_accuracies = TakeMeasured(in, "accuracies", medusa.accuracies);
  in.Describe("accuracies", "list of lists of number",
              "By head and rank, for a tree of that many `nodes`.");
  const bool has_nodes =
      in.Optional("nodes", medusa.nodes, "The nodes, with `accuracies`.");
  BANYAN_RETURN_IF_ERROR(in.Finish());
  if (has_paths + (file != nullptr) + has_accuracies != 1)
    return in.section().Error(
        in.what() + ": expected exactly one of paths, file and accuracies");
  if (has_accuracies != has_nodes)
    return in.section().Error(in.what() +
                              ": nodes belongs to accuracies, and needs them");
  if (has_accuracies) return Rated(in, GreedyTree(medusa));
  if (file != nullptr) return FromFile(in, *file, tree);
  return FromPaths(in, std::move(paths));
}

}  // namespace

HardwareSection TakeHardware(ParamsReader& in) {
  HardwareSection section;
  SequoiaOptions& limits = section.limits;
  if (!TakeMeasured(in, "acceptance", limits.acceptance))
    in.Required("acceptance", limits.acceptance,
                "The acceptance rate by rank, the first child first.");
  in.Required("nodes", limits.nodes, "The most nodes that are drafted.");
  EnsureDraws(in, "nodes", limits.nodes);
  in.Optional("levels", limits.levels, "The most levels; 0: no limit.");
  in.Optional("width", limits.width,
              "The most children of a node; 0: no limit.");
  in.AtLeast("batch", section.batch, 1,
             "Sequences that share every pass, whose tokens it then has; an "
             "experiment gives its own.");
  section.target_ms = in.Take("target_ms");
  section.draft_ms = in.Take("draft_ms");
  in.Describe("target_ms", "map from int to number",
              "Milliseconds of a target pass, by its tokens: the tree of best "
              "predicted speed is chosen.");
  in.Describe("draft_ms", "number or map",
              "Milliseconds of a drafted level, or a curve by its width.");
  const Params* calibration = in.section().Find("calibration");
  if (section.draft_ms == nullptr && section.target_ms != nullptr &&
      calibration != nullptr)
    section.draft_ms = calibration->Find("draft_ms");
  return section;
}

absl::StatusOr<HardwareOptions> ReadHardware(const HardwareSection& section) {
  HardwareOptions options = {.limits = section.limits,
                             .sequences = section.batch};
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
  return Rated(in, BestTree(section.limits));
}

}  // namespace

PolicyRow ChainRow() {
  return {.name = "chain",
          .sentence = "A chain of that many nodes.",
          .plan = PlanChain,
          .sizes = {.nodes = true},
          .renamed = {{"gamma", "nodes"}},
          .examples = {"{nodes: 0}", "{nodes: 1}", "{nodes: 2}", "{nodes: 3}"}};
}

PolicyRow ExpansionRow() {
  return {.name = "expansion",
          .sentence =
              "SpecInfer's <k1, ..., km>: every node of level i draws ki "
              "tokens.",
          .plan = PlanExpansion,
          .sizes = {.nodes = true},
          .instead_of_nodes = {"branching"},
          .examples = {"{branching: [2]}", "{branching: [3]}",
                       "{branching: [1, 2]}", "{branching: [2, 1]}",
                       "{branching: [2, 2]}"}};
}

PolicyRow StaticRow() {
  return {.name = "static",
          .sentence =
              "A static tree (Medusa): stated paths, a file of them, or grown "
              "greedily from head accuracies.",
          .plan = PlanStatic,
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
