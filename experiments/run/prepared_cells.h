// An experiment's cells, ready to decode.
#ifndef BANYAN_EXPERIMENTS_RUN_PREPARED_CELLS_H_
#define BANYAN_EXPERIMENTS_RUN_PREPARED_CELLS_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/clock.h"
#include "core/base/token.h"
#include "core/tokenizer/chat_template.h"
#include "decode/sequence.h"
#include "experiments/plan/experiment.h"
#include "experiments/plan/workload.h"
#include "experiments/records/record.pb.h"
#include "experiments/run/loaded_model.h"
#include "experiments/run/method_file.h"
#include "experiments/run/model_shelf.h"

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

// A prompt in the tokens of the experiment's targets, which have one tokenizer.
struct PreparedPrompt {
  int number = 0;  // in the workload
  std::string id;
  std::string kind;
  std::vector<TokenId> tokens;  // of the first turn
  // Of a chat: what the user says. What follows the first turn depends on what
  // the cell answered.
  std::vector<std::string> chat;

  int turns() const { return chat.empty() ? 1 : static_cast<int>(chat.size()); }
};

struct PreparedRun {
  std::vector<PreparedCell> cells;
  std::vector<PreparedPrompt> prompts;
  int workload_prompts = 0;  // in the file: later turns are numbered from there

  int left_out = 0;  // later turns, where nothing says how to write chats

  // The prompts in the units that are decoded in one go, by their places: one
  // each, unless cells decode several at a time. Then every unit has as many as
  // possible up to twice the largest batch, so that half of them take the place
  // of another, and the units are as equal as can be.
  std::vector<std::vector<std::size_t>> Units() const;

  int turns() const;  // of all prompts
};

// Opens every model and builds every method, in memory that they share. What
// is wrong with any cell or prompt is told at once, one line each: what a
// method file can get wrong, prompts that do not fit a context with the tokens
// wanted, targets that cut the workload into different tokens.
absl::StatusOr<PreparedRun> PrepareRun(const Experiment& experiment,
                                       const Workload& workload,
                                       ModelShelf& shelf,
                                       std::shared_ptr<const Clock> clock);

// The prompts that an experiment takes of a workload: those of its kinds, and
// of these as many as it wants, evenly spread and `offset` later. Their
// numbers.
absl::StatusOr<std::vector<int>> ChoosePrompts(const WorkloadSpec& spec,
                                               const Workload& workload);

// A chat up to the turn after these answers, in the tokens of the cell's
// target. Fails if its template has no place for it.
absl::StatusOr<std::vector<TokenId>> ChatTokens(
    const PreparedCell& cell, const PreparedPrompt& prompt,
    absl::Span<const std::string> answers);

// A prompt in the tokens of a target. Fails if it is text and the target has no
// tokenizer, or if it has no token.
absl::StatusOr<std::vector<TokenId>> TokensOf(const WorkloadPrompt& prompt,
                                              const LoadedModel& target);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_RUN_PREPARED_CELLS_H_
