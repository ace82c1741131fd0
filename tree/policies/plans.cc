#include "tree/policies/plans.h"

#include <string>
#include <utility>
#include <vector>

#include "core/base/common.h"
#include "core/base/params.h"
#include "tree/optimize/cost_curve.h"
#include "tree/optimize/hardware.h"
#include "tree/optimize/medusa.h"
#include "tree/optimize/sequoia.h"
#include "tree/optimize/shape.h"
#include "tree/paths_json.h"
#include "tree/policies/bounds.h"
#include "tree/policies/row.h"
#include "tree/policies/shape_plan.h"

namespace banyan {
namespace {

// The optimisers know nothing of files: their errors get the section's place.
absl::Status PlanError(const ParamsReader& in, const absl::Status& error) {
  return in.section().Error(in.what() + ": " + std::string(error.message()));
}

absl::StatusOr<ShapePlan> Rated(const ParamsReader& in,
                                absl::StatusOr<RatedShape> rated) {
  if (!rated.ok()) return PlanError(in, rated.status());
  return ShapePlan{.shape = std::move(rated->shape),
                   .expected_tokens = rated->expected_tokens};
}

absl::StatusOr<ShapePlan> FromPaths(const ParamsReader& in,
                                    std::vector<std::vector<int>> paths) {
  absl::StatusOr<Shape> shape = Shape::FromPaths(std::move(paths));
  if (!shape.ok()) return PlanError(in, shape.status());
  return ShapePlan{.shape = *std::move(shape)};
}

absl::StatusOr<ShapePlan> FromFile(const ParamsReader& in,
                                   const std::string& file,
                                   const std::string& tree) {
  std::string name = Beside(*in.section().Find("file"), file);
  absl::StatusOr<std::vector<std::vector<int>>> paths =
      ReadPathsFile(name, tree);
  if (!paths.ok()) return PlanError(in, paths.status());
  BANYAN_ASSIGN_OR_RETURN(ShapePlan plan, FromPaths(in, *std::move(paths)));
  plan.file = std::move(name);
  return plan;
}

absl::StatusOr<ShapePlan> ForHardware(const ParamsReader& in,
                                      const HardwareSection& section) {
  BANYAN_ASSIGN_OR_RETURN(const HardwareOptions options, ReadHardware(section));
  absl::StatusOr<HardwareChoice> choice = FastestTree(options);
  if (!choice.ok()) return PlanError(in, choice.status());
  return ShapePlan{.shape = choice->shape,
                   .expected_tokens = choice->expected_tokens,
                   .choice = *choice};
}

struct PlanOptions {  // of chain, expansion and static
  int nodes = 0;
  std::vector<int> branching;
  bool share_draws = false;
  std::vector<std::vector<int>> paths;
  std::vector<std::vector<double>> accuracies;
  std::string file;
  std::string tree;
};

absl::StatusOr<ShapePlan> PlanChain(ParamsReader& in,
                                    const PlanOptions& options) {
  in.Ensure(options.nodes >= 0, "nodes", "must not be negative");
  EnsureDraws(in, "nodes", options.nodes);
  BANYAN_RETURN_IF_ERROR(in.Finish());
  return ShapePlan{.shape = Shape::Chain(options.nodes)};
}

absl::StatusOr<ShapePlan> PlanExpansion(ParamsReader& in, PlanOptions options) {
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
  if (!shape.ok()) return PlanError(in, shape.status());
  return ShapePlan{.shape = *std::move(shape),
                   .share_draws = options.share_draws};
}

absl::StatusOr<ShapePlan> PlanStatic(ParamsReader& in, PlanOptions options) {
  BANYAN_RETURN_IF_ERROR(in.Finish());
  const bool has_accuracies = in.Has("accuracies");
  if (in.Has("paths") + in.Has("file") + has_accuracies != 1)
    return in.section().Error(
        in.what() + ": expected exactly one of paths, file and accuracies");
  if (has_accuracies != in.Has("nodes"))
    return in.section().Error(in.what() +
                              ": nodes belongs to accuracies, and needs them");
  if (has_accuracies)
    return Rated(in, GreedyTree({.accuracies = std::move(options.accuracies),
                                 .nodes = options.nodes}));
  if (in.Has("file")) return FromFile(in, options.file, options.tree);
  return FromPaths(in, std::move(options.paths));
}

Keys<HardwareSection> KeysOfHardware() {
  using Section = HardwareSection;
  Keys<Section> keys;
  keys.Required("acceptance", &Section::acceptance,
                "The acceptance rate by rank, the first child first; or costs "
                "that have it.");
  keys.Required("nodes", &Section::nodes, "The most nodes that are drafted.");
  keys.Optional("levels", &Section::levels, "The most levels; 0: no limit.");
  keys.Optional("width", &Section::width,
                "The most children of a node; 0: no limit.");
  keys.AtLeast("batch", &Section::batch, 1,
               "How many sequences share every pass. An experiment gives its "
               "own batch.");
  keys.Described("target_ms", "map from int to number",
                 "Milliseconds of a target pass, by its tokens, or costs that "
                 "have them: the tree of best predicted speed is chosen.");
  keys.Described("draft_ms", "number or map",
                 "Milliseconds of a drafted level, or a curve by its width, or "
                 "costs that have it; left out, those of `target_ms` have it, "
                 "or else it is 0.");
  return keys;
}

}  // namespace

std::vector<KeyRow> HardwareKeys() { return KeysOfHardware().Rows(); }

HardwareSection TakeHardware(ParamsReader& in) {
  HardwareSection section;
  KeysOfHardware().Read(in, section);
  EnsureDraws(in, "nodes", section.nodes);
  section.target_ms = in.Take("target_ms");
  section.draft_ms = in.Take("draft_ms");
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

Params HeadsSection(int heads, int draws) {
  std::vector<Params> paths;
  std::vector<Params> first;  // ranks 0 down to the head's node
  for (int head = 0; head < heads; ++head) {
    for (int draw = 0; draw < draws; ++draw) {
      std::vector<Params> path = first;
      path.push_back(Params::Scalar(absl::StrCat(draw)));
      paths.push_back(Params::List(std::move(path)));
    }
    first.push_back(Params::Scalar("0"));
  }
  return Params::Map(
      {{"name", {}, Params::Scalar(std::string(StaticRow().name))},
       {"paths", {}, Params::List(std::move(paths))}});
}

PolicyRow ChainRow() {
  Keys<PlanOptions> keys;
  keys.Required("nodes", &PlanOptions::nodes, "The tokens that are drafted.");
  return {.name = "chain",
          .sentence = "A chain of that many nodes.",
          .keys = keys.Rows(),
          .plan = keys.ReadFor(PlanChain),
          .sizes = {.nodes = true},
          .renamed = {{"gamma", "nodes"}},
          .examples = {"{nodes: 0}", "{nodes: 1}", "{nodes: 2}", "{nodes: 3}"}};
}

PolicyRow ExpansionRow() {
  Keys<PlanOptions> keys;
  keys.Optional("branching", &PlanOptions::branching,
                "The draws of a node, by level.");
  keys.Optional(
      "nodes", &PlanOptions::nodes,
      "In the place of `branching`: the root draws two, every other node one, "
      "to that many nodes or one fewer; 1 is a chain.");
  keys.Optional("share_draws", &PlanOptions::share_draws,
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
  Keys<PlanOptions> keys;
  keys.Optional("paths", &PlanOptions::paths, "Lists of child ranks from 0.");
  keys.Optional("file", &PlanOptions::file,
                "A JSON file of paths, beside this one.");
  keys.Optional("tree", &PlanOptions::tree, "Which of the file's trees.")
      .OnlyWith("file");
  keys.Optional("accuracies", &PlanOptions::accuracies,
                "By head and rank, for a tree of that many `nodes`; or costs "
                "that have them.");
  keys.Optional("nodes", &PlanOptions::nodes, "The nodes, with `accuracies`.");
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
