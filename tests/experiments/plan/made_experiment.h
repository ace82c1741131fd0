// An experiment file for tests of what such files mean.
#ifndef BANYAN_TESTS_EXPERIMENTS_PLAN_MADE_EXPERIMENT_H_
#define BANYAN_TESTS_EXPERIMENTS_PLAN_MADE_EXPERIMENT_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/params.h"
#include "experiments/plan/experiment.h"
#include "experiments/plan/resolve.h"

namespace banyan {

// Two methods at two temperatures, one of them with two lengths.
inline constexpr char kMadeExperiment[] =
    "question: Does it?\n"
    "target: {directory: some/target}\n"
    "workload: {file: prompts.jsonl}\n"
    "models:\n"
    "  draft: {directory: other}\n"
    "sampling: {temperature: 1}\n"
    "methods:\n"
    "  chain:\n"
    "    models: {draft: {directory: own}}\n"
    "    drafters: [{name: small_model, model: draft}]\n"
    "    policy: {name: chain, nodes: 4}\n"
    "    verifier: {name: multi_round}\n"
    "  ngram:\n"
    "    drafters: [{name: ngram}]\n"
    "    policy: {name: chain, nodes: 3}\n"
    "    verifier: {name: multi_round}\n"
    "matrix:\n"
    "  sampling.temperature: [0, 1]\n"
    "  methods.chain.policy.nodes: [2, 4]\n";

// Fails the test unless `text` is YAML.
Params ParseText(const std::string& text);

absl::StatusOr<Experiment> ReadExperimentText(const std::string& text,
                                              const Settings& settings = {});

std::vector<std::string> CellNames(const Experiment& experiment);

// The section of a trunk's policy.
const Params& PolicyOf(const ExperimentCell& cell, std::size_t trunk = 0);
// The path that a model of the cell's method names; "": there is no such model.
std::string PathOf(const ExperimentCell& cell, const std::string& model);
// A cell's method: models, drafters, policies and verifier.
std::string MethodText(const ExperimentCell& cell);

}  // namespace banyan

#endif  // BANYAN_TESTS_EXPERIMENTS_PLAN_MADE_EXPERIMENT_H_
