// banyan list: every catalogue.
#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "configs/loader/loader.h"
#include "core/base/params.h"
#include "core/base/status_macros.h"
#include "core/checkpoint/families/catalogue.h"
#include "core/json/json_value.h"
#include "core/ops/devices.h"
#include "drafters/catalogue.h"
#include "experiments/commands/commands.h"
#include "experiments/commands/shared/command_line.h"
#include "experiments/metrics/catalogue.h"
#include "experiments/metrics/metric.h"
#include "experiments/proof/controls.h"
#include "tree/draft_tree.h"
#include "tree/policies/catalogue.h"
#include "tree/tree_policy.h"
#include "tree/verdict.h"
#include "verifiers/catalogue.h"
#include "verifiers/verifier.h"

namespace banyan {
namespace {

// A line of a catalogue, with what --json says beside name and sentence, and
// what a reader is told of that.
struct Row {
  Row(absl::string_view row_name, absl::string_view row_sentence)
      : name(row_name), sentence(row_sentence) {
    json = {{"name", name}, {"sentence", sentence}};
  }
  void Add(absl::string_view key, const std::vector<std::string>& names,
           absl::string_view title) {
    json[key] = names;
    if (!names.empty())
      facts.push_back(absl::StrCat(title, absl::StrJoin(names, ", ")));
  }
  void Add(absl::string_view key, bool value, absl::string_view fact) {
    json[key] = value;
    if (value) facts.emplace_back(fact);
  }

  std::string name;
  std::string sentence;
  JsonValue json;
  std::vector<std::string> facts;
};

using Rows = std::vector<Row>;

void AddTwin(absl::string_view twin, Row& row) {
  row.json["device_twin"] = twin;
  if (!twin.empty())
    row.facts.push_back(absl::StrCat("on a device alone: ", twin));
}

void AddLaws(const std::vector<DraftLaw>& laws, Row& row) {
  std::vector<std::string> names;
  for (DraftLaw law : laws) names.emplace_back(Name(law));
  row.Add("laws", names, "laws: ");
}

absl::StatusOr<Rows> Policies() {
  Rows rows;
  for (const PolicyRow& row : PolicyCatalogue()) {
    // Traits belong to a built policy: the first example stands for the row.
    const std::string section =
        absl::StrCat("{name: ", row.name, ", ", row.examples.front().substr(1));
    BANYAN_ASSIGN_OR_RETURN(const Params params,
                            ParseYaml(section, std::string(row.name)));
    BANYAN_ASSIGN_OR_RETURN(PolicyChoice choice, BuildPolicy(params));
    AddLaws(choice.policy->traits().laws,
            rows.emplace_back(row.name, row.sentence));
    rows.back().Add("fixed_shape", row.plan != nullptr, "fixed shape");
    AddTwin(choice.policy->twin().name, rows.back());
  }
  return rows;
}

absl::StatusOr<Rows> Verifiers() {
  Rows rows;
  for (const VerifierRow& row : VerifierCatalogue()) {
    BANYAN_ASSIGN_OR_RETURN(const Params params,
                            ParseYaml(absl::StrCat("{name: ", row.name, "}"),
                                      std::string(row.name)));
    BANYAN_ASSIGN_OR_RETURN(std::unique_ptr<Verifier> verifier,
                            BuildVerifier(params));
    const VerifierTraits traits = verifier->traits();
    Row& entry = rows.emplace_back(row.name, row.sentence);
    AddLaws(traits.laws, entry);
    entry.json["exactness"] = Name(traits.exactness);
    entry.facts.emplace_back(Name(traits.exactness));
    entry.Add("chains_only", traits.chain, "chains only");
    entry.Add("one_trunk_only", traits.one_list, "one trunk only");
    AddTwin(traits.twin, entry);
  }
  return rows;
}

Rows Drafters() {
  Rows rows;
  for (const DrafterRow& row : DrafterCatalogue()) {
    AddLaws(row.laws, rows.emplace_back(row.name, row.sentence));
    AddTwin(row.twin, rows.back());
  }
  return rows;
}

Rows Families() {
  Rows rows;
  for (const FamilyRow& row : FamilyCatalogue())
    rows.emplace_back(row.name, row.sentence);
  return rows;
}

Rows Devices() {
  Rows rows;
  for (const DeviceRow& row : DeviceTable()) {
    Row& entry = rows.emplace_back(row.name, row.sentence);
    entry.json["takes_threads"] = row.takes_threads;
    entry.Add("instruction_sets", row.instruction_sets(),
              "instruction sets here: ");
  }
  return rows;
}

Rows Metrics() {
  Rows rows;
  for (const MetricRow& row : MetricCatalogue()) {
    Row& entry = rows.emplace_back(row.name, row.sentence);
    entry.json["unit"] = row.unit;
    if (!row.unit.empty()) entry.facts.push_back(absl::StrCat("in ", row.unit));
  }
  return rows;
}

Rows Controls() {
  Rows rows;
  for (const ControlRow& row : ControlCatalogue())
    rows.emplace_back(row.name, row.sentence);
  return rows;
}

struct Catalogue {
  std::string key;  // of --json
  std::string note;
  Rows rows;
};

void Print(const Catalogue& catalogue) {
  std::cout << catalogue.key << catalogue.note << "\n";
  int width = 0;
  for (const Row& row : catalogue.rows)
    width = std::max(width, static_cast<int>(row.name.size()) + 2);
  for (const Row& row : catalogue.rows) {
    std::cout << absl::StreamFormat("  %-*s%s\n", width, row.name,
                                    row.sentence);
    if (!row.facts.empty())
      std::cout << absl::StreamFormat("  %-*s[%s]\n", width, "",
                                      absl::StrJoin(row.facts, "; "));
  }
  std::cout << "\n";
}

absl::Status List(bool json) {
  BANYAN_ASSIGN_OR_RETURN(Rows policies, Policies());
  BANYAN_ASSIGN_OR_RETURN(Rows verifiers, Verifiers());
  const std::vector<Catalogue> catalogues = {
      {"drafters", "", Drafters()},
      {"policies", "", std::move(policies)},
      {"verifiers", "", std::move(verifiers)},
      {"model families", "", Families()},
      {"devices", "", Devices()},
      {"metrics", "", Metrics()},
      {"controls", " (wrong on purpose)", Controls()}};
  JsonValue all;
  for (const Catalogue& catalogue : catalogues) {
    if (!json) Print(catalogue);
    for (const Row& row : catalogue.rows) all[catalogue.key].Add(row.json);
  }
  if (json) std::cout << all.Text(2) << "\n";
  return absl::OkStatus();
}

}  // namespace

void AddListCommand(CommandLine& line) {
  Command command = line.Add(
      "list",
      "Lists drafters, tree policies, verifiers, model families, devices, "
      "metrics and controls.");
  const auto json = std::make_shared<bool>(false);
  command.Flag("--json", json.get(), "Print JSON.");
  command.OnCall([json] { return List(*json); });
}

}  // namespace banyan
