// The options of `banyan measure`, and what it measures of a model and of
// methods.
#ifndef BANYAN_EXPERIMENTS_COMMANDS_MEASURE_H_
#define BANYAN_EXPERIMENTS_COMMANDS_MEASURE_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "experiments/commands/shared/model_options.h"
#include "experiments/commands/shared/output.h"
#include "experiments/plan/costs.h"
#include "experiments/plan/measured.h"
#include "experiments/records/record.pb.h"
#include "experiments/timing/pass_timing.h"

namespace banyan {

struct MeasureOptions {
  std::vector<std::string> paths;  // a file of methods, or records
  ModelOptions model;
  TimingOptions timing;
  bool json = false;
  // These replace what a file of methods says, where they are given.
  std::string workload;
  std::optional<std::string> chat;
  std::string temperature;
  std::optional<int> prompts;
  std::optional<int> max_new_tokens;
  std::string seed;
  std::vector<std::string> settings;
  CountOptions count;
  OutputPath out;
};

// Times passes of the model, and prints them beside the device's limits.
absl::Status MeasurePasses(const MeasureOptions& options);

// Times passes and levels and counts acceptance, for the targets and drafters
// of an experiment or a method.
absl::Status MeasureMethods(const MeasureOptions& options);

// Writes costs that were measured on this machine just now by `command`.
absl::Status WriteCosts(Costs costs, const records::Machine& machine,
                        const std::string& command, const OutputPath& out);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_COMMANDS_MEASURE_H_
