// An experiment's cell, ready to decode.
#ifndef BANYAN_EXPERIMENTS_RUN_PREPARED_CELLS_H_
#define BANYAN_EXPERIMENTS_RUN_PREPARED_CELLS_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "core/base/clock.h"
#include "core/tokenizer/chat_template.h"
#include "decode/sequence.h"
#include "experiments/models/loaded_model.h"
#include "experiments/models/method_file.h"
#include "experiments/models/model_shelf.h"
#include "experiments/plan/experiment.h"
#include "experiments/records/record.pb.h"

namespace banyan {

struct PreparedCell {
  records::Cell description;
  LoadedModel target;
  LoadedMethod method;
  std::optional<ChatTemplate> chat;
  StopRule stop;
  bool carries_state = false;  // some drafter's, from prompt to prompt
  int batch = 1;               // prompts decoded at a time
};

// Opens its models and builds its method. `chat` is the workload's. Fails as a
// method file does.
absl::StatusOr<PreparedCell> PrepareCell(
    const ExperimentCell& cell, const std::string& chat, ModelShelf& shelf,
    const std::shared_ptr<const Clock>& clock);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_RUN_PREPARED_CELLS_H_
