#include "tests/experiments/plan/made_experiment.h"

#include <gtest/gtest.h>

#include <utility>

#include "configs/loader/yaml.h"
#include "core/base/common.h"
#include "experiments/plan/method_spec.h"
#include "experiments/plan/read_experiment.h"

namespace banyan {

Params ParseText(const std::string& text) {
  absl::StatusOr<Params> params = ParseYaml(text, "file.yaml");
  EXPECT_TRUE(params.ok()) << params.status();
  return *std::move(params);
}

absl::StatusOr<Experiment> ReadExperimentText(const std::string& text,
                                              const Settings& settings) {
  return ReadExperiment(ParseText(text), settings);
}

std::vector<std::string> CellNames(const Experiment& experiment) {
  std::vector<std::string> names;
  for (const ExperimentCell& cell : experiment.cells)
    names.push_back(cell.name);
  return names;
}

const Params& PolicyOf(const ExperimentCell& cell, std::size_t trunk) {
  return cell.spec.trunks.at(trunk).policy.section();
}

std::string PathOf(const ExperimentCell& cell, const std::string& model) {
  for (const NamedModel& own : cell.spec.models)
    if (own.name == model) return own.place.text();
  return "";
}

std::string MethodText(const ExperimentCell& cell) {
  const MethodSpec& method = cell.spec;
  std::string text;
  for (const NamedModel& model : method.models)
    absl::StrAppend(&text, model.name, ": ", model.folder_key, " ",
                    model.place.text(), " ", model.spec.weights, "\n");
  for (const Params& drafter : method.drafters)
    absl::StrAppend(&text, "- ", ToYaml(drafter));
  for (const TrunkSpec& trunk : method.trunks)
    absl::StrAppend(&text, trunk.drafter, " ", ToYaml(trunk.policy.section()));
  absl::StrAppend(&text, "verifier ", ToYaml(method.verifier));
  return text;
}

}  // namespace banyan
