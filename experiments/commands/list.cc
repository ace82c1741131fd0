// banyan list: every catalogue.
#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "CLI/App.hpp"
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
#include "core/ops/devices.h"
#include "drafters/catalogue.h"
#include "experiments/commands/commands.h"
#include "experiments/metrics/catalogue.h"
#include "experiments/metrics/metric.h"
#include "experiments/proof/controls.h"
#include "nlohmann/json.hpp"
#include "tree/draft_tree.h"
#include "tree/policies/catalogue.h"
#include "tree/tree_policy.h"
#include "tree/verdict.h"
#include "verifiers/catalogue.h"
#include "verifiers/verifier.h"

namespace banyan {
namespace {

using Json = nlohmann::ordered_json;

Json LawNames(const std::vector<DraftLaw>& laws) {
  Json names = Json::array();
  for (DraftLaw law : laws) names.push_back(std::string(Name(law)));
  return names;
}

Json Row(absl::string_view name, absl::string_view sentence) {
  return {{"name", std::string(name)}, {"sentence", std::string(sentence)}};
}

absl::StatusOr<Json> Policies() {
  Json rows = Json::array();
  for (const PolicyRow& row : PolicyCatalogue()) {
    // Traits belong to a built policy: the first example stands for the row.
    const std::string section =
        absl::StrCat("{name: ", row.name, ", ", row.examples.front().substr(1));
    BANYAN_ASSIGN_OR_RETURN(const Params params,
                            ParseYaml(section, std::string(row.name)));
    BANYAN_ASSIGN_OR_RETURN(PolicyChoice choice, BuildPolicy(params));
    Json entry = Row(row.name, row.sentence);
    entry["laws"] = LawNames(choice.policy->traits().laws);
    entry["fixed_shape"] = row.plan != nullptr;
    rows.push_back(entry);
  }
  return rows;
}

absl::StatusOr<Json> Verifiers() {
  Json rows = Json::array();
  for (const VerifierRow& row : VerifierCatalogue()) {
    BANYAN_ASSIGN_OR_RETURN(const Params params,
                            ParseYaml(absl::StrCat("{name: ", row.name, "}"),
                                      std::string(row.name)));
    BANYAN_ASSIGN_OR_RETURN(std::unique_ptr<Verifier> verifier,
                            BuildVerifier(params));
    const VerifierTraits traits = verifier->traits();
    Json entry = Row(row.name, row.sentence);
    entry["laws"] = LawNames(traits.laws);
    entry["exactness"] = std::string(Name(traits.exactness));
    entry["chains_only"] = traits.chain;
    entry["one_trunk_only"] = traits.one_list;
    rows.push_back(entry);
  }
  return rows;
}

Json Drafters() {
  Json rows = Json::array();
  for (const DrafterRow& row : DrafterCatalogue()) {
    Json entry = Row(row.name, row.sentence);
    entry["laws"] = LawNames(row.laws);
    rows.push_back(entry);
  }
  return rows;
}

Json Families() {
  Json rows = Json::array();
  for (const FamilyRow& row : FamilyCatalogue())
    rows.push_back(Row(row.name, row.sentence));
  return rows;
}

Json Devices() {
  Json rows = Json::array();
  for (const DeviceRow& row : DeviceTable()) {
    Json entry = Row(row.name, row.sentence);
    entry["takes_threads"] = row.takes_threads;
    entry["instruction_sets"] = row.instruction_sets();
    rows.push_back(entry);
  }
  return rows;
}

Json Metrics() {
  Json rows = Json::array();
  for (const MetricRow& row : MetricCatalogue()) {
    Json entry = Row(row.name, row.sentence);
    entry["unit"] = std::string(row.unit);
    rows.push_back(entry);
  }
  return rows;
}

Json Controls() {
  Json rows = Json::array();
  for (const ControlRow& row : ControlCatalogue())
    rows.push_back(Row(row.name, row.sentence));
  return rows;
}

std::string Facts(const Json& row) {
  std::vector<std::string> facts;
  if (row.contains("laws"))
    facts.push_back(absl::StrCat(
        "laws: ",
        absl::StrJoin(row["laws"].get<std::vector<std::string>>(), ", ")));
  if (row.contains("instruction_sets") && !row["instruction_sets"].empty())
    facts.push_back(absl::StrCat(
        "instruction sets here: ",
        absl::StrJoin(row["instruction_sets"].get<std::vector<std::string>>(),
                      ", ")));
  if (!row.value("unit", "").empty())
    facts.push_back("in " + row["unit"].get<std::string>());
  if (row.contains("exactness"))
    facts.push_back(row["exactness"].get<std::string>());
  if (row.value("chains_only", false)) facts.push_back("chains only");
  if (row.value("one_trunk_only", false)) facts.push_back("one trunk only");
  if (row.value("fixed_shape", false)) facts.push_back("fixed shape");
  return absl::StrJoin(facts, "; ");
}

void Print(const Json& catalogues) {
  for (const auto& [title, rows] : catalogues.items()) {
    std::cout << title << "\n";
    int width = 0;
    for (const Json& row : rows)
      width = std::max(
          width, static_cast<int>(row["name"].get<std::string>().size()) + 2);
    for (const Json& row : rows) {
      std::cout << absl::StreamFormat("  %-*s%s\n", width,
                                      row["name"].get<std::string>(),
                                      row["sentence"].get<std::string>());
      const std::string facts = Facts(row);
      if (!facts.empty())
        std::cout << absl::StreamFormat("  %-*s[%s]\n", width, "", facts);
    }
    std::cout << "\n";
  }
}

absl::Status List(bool json) {
  Json catalogues;
  catalogues["drafters"] = Drafters();
  BANYAN_ASSIGN_OR_RETURN(catalogues["policies"], Policies());
  BANYAN_ASSIGN_OR_RETURN(catalogues["verifiers"], Verifiers());
  catalogues["model families"] = Families();
  catalogues["devices"] = Devices();
  catalogues["metrics"] = Metrics();
  catalogues["controls (wrong on purpose)"] = Controls();
  if (!json) {
    Print(catalogues);
    return absl::OkStatus();
  }
  catalogues["controls"] = catalogues["controls (wrong on purpose)"];
  catalogues.erase("controls (wrong on purpose)");
  std::cout << catalogues.dump(2) << "\n";
  return absl::OkStatus();
}

}  // namespace

void AddListCommand(CLI::App& app, absl::Status& status) {
  CLI::App* command = app.add_subcommand(
      "list",
      "Lists drafters, tree policies, verifiers, model families, devices, "
      "metrics and controls.");
  const auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "Print JSON.");
  command->callback([json, &status] { status = List(*json); });
}

}  // namespace banyan
