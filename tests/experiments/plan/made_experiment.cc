#include "tests/experiments/plan/made_experiment.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "configs/loader/loader.h"

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

}  // namespace banyan
