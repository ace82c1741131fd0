// banyan tree: builds and draws a tree's shape.
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "configs/loader/yaml.h"
#include "core/base/common.h"
#include "core/base/messages.h"
#include "core/base/params.h"
#include "core/json/json_value.h"
#include "experiments/commands/commands.h"
#include "experiments/commands/shared/command_line.h"
#include "experiments/commands/shared/output.h"
#include "experiments/plan/method_spec.h"
#include "tree/optimize/hardware.h"
#include "tree/optimize/shape.h"
#include "tree/policies/catalogue.h"
#include "tree/policies/plans.h"
#include "tree/policies/row.h"
#include "tree/render.h"

namespace banyan {
namespace {

struct TreeFile {
  std::string policy;
  ShapePlan plan;
  std::vector<double> acceptance;  // empty: unknown
  // Of a tree of several drafters: what the file calls them.
  std::vector<std::string> names;

  // Whose draw a node is.
  std::string NameAt(std::size_t node) const {
    const int drafter = plan.drafters[node];
    if (drafter < 0) return "root";
    const auto place = static_cast<std::size_t>(drafter);
    return place < names.size() ? names[place]
                                : absl::StrCat("drafter ", drafter);
  }
};

constexpr absl::string_view kDrafters = "drafters";

// The policy section with the keys that stand beside it, which may be written
// either way. `acceptance` beside a stated shape rates it and is not moved.
absl::StatusOr<Params> PolicyWithKeysBeside(const Params& params,
                                            const Params& policy) {
  BANYAN_ASSIGN_OR_RETURN(const PolicyRow* row,
                          FindRow(PolicyCatalogue(), "policy", policy));
  std::vector<Params::Entry> entries(policy.entries().begin(),
                                     policy.entries().end());
  for (const Params::Entry& entry : params.entries()) {
    if (entry.key == "policy" || entry.key == kDrafters) continue;
    if (!row->takes_costs && entry.key == "acceptance") continue;
    if (policy.Find(entry.key) != nullptr)
      return entry.value.Error(absl::StrCat("tree file: '", entry.key,
                                            "' stands in the policy as well"));
    entries.push_back(entry);
  }
  return Params::Map(std::move(entries), policy.origin());
}

absl::StatusOr<TreeFile> ReadTreeFile(const Params& params) {
  const Params* stated = params.Find("policy");
  if (stated == nullptr) return params.Error("tree file: missing key 'policy'");
  if (stated->kind() != Params::Kind::kMap)
    return stated->Error("tree file: 'policy' must be a map with a name");
  BANYAN_ASSIGN_OR_RETURN(const Params whole,
                          PolicyWithKeysBeside(params, *stated));
  // Where costs are included, the first of their tables count.
  PolicySpec spec(whole);
  TreeFile file;
  if (const Params* names = params.Find(kDrafters)) {
    BANYAN_RETURN_IF_ERROR(Convert(*names, file.names));
  }
  std::vector<std::string> notes;
  std::vector<CountedDrafter> drafters;
  for (const std::string& name : file.names)
    drafters.push_back({.label = name, .kind = name});
  BANYAN_RETURN_IF_ERROR(spec.PutStatedCosts({}, drafters, notes));
  const Params& policy = spec.section();
  BANYAN_ASSIGN_OR_RETURN(file.plan, PlanShape(policy));
  file.policy = policy.Find("name")->text();
  const Params* rates = policy.Find("acceptance");
  if (rates == nullptr) rates = params.Find("acceptance");
  if (rates == nullptr) return file;
  BANYAN_RETURN_IF_ERROR(Convert(*rates, file.acceptance));
  const absl::Status status = CheckAcceptance(file.acceptance, "acceptance");
  if (!status.ok()) return rates->Error(status.message());
  if (!file.plan.expected_tokens.has_value())
    file.plan.expected_tokens =
        ExpectedTokens(file.plan.shape, file.acceptance);
  return file;
}

JsonValue ToJson(const TreeFile& file) {
  const Shape& shape = file.plan.shape;
  JsonValue out;
  out["policy"] = file.policy;
  out["nodes"] = shape.size() - 1;
  out["levels"] = Height(shape);
  out["expected_tokens"] = nullptr;
  if (file.plan.expected_tokens.has_value())
    out["expected_tokens"] = *file.plan.expected_tokens;
  if (const auto& choice = file.plan.choice; choice.has_value())
    out["chosen"] = {{"nodes", choice->nodes},
                     {"levels", choice->levels},
                     {"round_ms", choice->round_ms},
                     {"tokens_per_ms", choice->tokens_per_ms},
                     {"speedup", choice->speedup}};
  out["parents"] = shape.parents;
  out["depth"] = Depths(shape);
  out["rank"] = Ranks(shape);
  out["paths"] = ToPaths(shape);
  if (!file.plan.drafters.empty()) {
    out["drafters"] = file.plan.drafters;
    out["reach"] = file.plan.reach;
  }
  return out;
}

// Labels are ranks, or whose draw a node is where drafters take turns.
TreePicture PictureOf(const TreeFile& file) {
  TreePicture picture = Picture(file.plan.shape, file.acceptance);
  if (file.acceptance.empty()) picture.notes.clear();
  if (!file.plan.drafters.empty()) {
    picture.notes.clear();
    picture.rings.clear();
    for (std::size_t node = 0; node < picture.labels.size(); ++node) {
      picture.labels[node] = file.NameAt(node);
      picture.notes.push_back(absl::StrFormat("%.4f", file.plan.reach[node]));
      const int drafter = file.plan.drafters[node];
      picture.rings.push_back(drafter < 0 ? std::vector<int>()
                                          : std::vector{drafter});
    }
  }
  picture.title = absl::StrCat(file.policy, ", ", file.plan.shape.size() - 1,
                               " drafted nodes");
  return picture;
}

void PrintText(const TreeFile& file, const TreePicture& picture) {
  std::cout << ToText(picture) << "\n";
  std::cout << absl::StreamFormat("  %-18s%d, on %s\n", "drafted nodes",
                                  file.plan.shape.size() - 1,
                                  Counted(Height(file.plan.shape), "level"));
  if (file.plan.expected_tokens.has_value())
    std::cout << absl::StreamFormat("  %-18s%.6f a round\n", "expected tokens",
                                    *file.plan.expected_tokens);
  if (const auto& choice = file.plan.choice; choice.has_value())
    std::cout << absl::StreamFormat(
        "  %-18s%.4f tokens per ms (%.3f ms a round), speedup %.3f\n",
        "predicted speed", choice->tokens_per_ms, choice->round_ms,
        choice->speedup);
}

struct TreeOptions {
  std::string file;
  bool json = false;
  bool dot = false;
  OutputPath svg;
};

absl::Status Tree(const TreeOptions& options) {
  BANYAN_ASSIGN_OR_RETURN(const Params params, LoadYamlFile(options.file));
  BANYAN_ASSIGN_OR_RETURN(const TreeFile file, ReadTreeFile(params));
  const TreePicture picture = PictureOf(file);
  if (!options.svg.empty()) {
    BANYAN_RETURN_IF_ERROR(WriteOutput(options.svg, ToSvg(picture)));
    if (!options.json) std::cout << "drawn: " << options.svg.path() << "\n";
  }
  if (options.json) {
    std::cout << ToJson(file).Text(2) << "\n";
  } else if (options.dot) {
    std::cout << ToDot(picture);
  } else {
    PrintText(file, picture);
  }
  return absl::OkStatus();
}

}  // namespace

void AddTreeCommand(CommandLine& line) {
  Command command = line.Add(
      {.name = "tree",
       .sentence = "Builds, rates and draws the shape of a draft tree.",
       .example = "  banyan tree configs/tree/sequoia.yaml --svg tree.svg"});
  const auto options = std::make_shared<TreeOptions>();
  command
      .Option("FILE", &options->file,
              "YAML: policy (chain, expansion, static, sequoia or joint); "
              "optional acceptance by rank, to rate a stated shape, and "
              "drafters, the names of those that a joint tree has "
              "(docs/formats.md; examples in configs/tree).")
      .Required();
  command.Flag("--json", &options->json, "Print JSON.");
  command.Flag("--dot", &options->dot, "Print Graphviz.");
  command.Option("--svg", &options->svg, "Draw to this SVG file.");
  command.OnCall([options] { return Tree(*options); });
}

}  // namespace banyan
