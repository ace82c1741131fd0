// An experiment's cells and prompts, ready to decode.
#ifndef BANYAN_EXPERIMENTS_RUN_PREPARED_RUN_H_
#define BANYAN_EXPERIMENTS_RUN_PREPARED_RUN_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/base/common.h"
#include "core/base/token.h"
#include "decode/sequence.h"
#include "experiments/loading/model_shelf.h"
#include "experiments/plan/experiment.h"
#include "experiments/plan/workload.h"
#include "experiments/run/prepared_cells.h"

namespace banyan {

// Prompts in the tokens of an experiment's targets.

// A prompt in the tokens of the experiment's targets, which have one tokenizer.
struct PreparedPrompt {
  int number = 0;  // in the workload
  std::string id;
  std::string kind;
  std::vector<TokenId> tokens;  // of the first turn
  // Of a chat: what the user says. What follows the first turn depends on what
  // the cell answered.
  std::vector<std::string> chat;
  int longest = 0;  // tokens that its text may have in the end

  int turns() const { return chat.empty() ? 1 : static_cast<int>(chat.size()); }
};

// One prompt, with room for it in every cell. Fails if it does not fit a
// context with the tokens wanted, or the targets cut it into different tokens.
absl::StatusOr<PreparedPrompt> PreparePrompt(
    int number, const WorkloadPrompt& prompt,
    const std::vector<PreparedCell>& cells);

// A chat up to the turn after these answers, in the tokens of the cell's
// target. Fails if its template has no place for it.
absl::StatusOr<std::vector<TokenId>> ChatTokens(
    const PreparedCell& cell, const PreparedPrompt& prompt,
    absl::Span<const std::string> answers);

// A prompt in the tokens of a target. Fails if it is text and the target has no
// tokenizer, or if it has no token.
absl::StatusOr<std::vector<TokenId>> TokensOf(const WorkloadPrompt& prompt,
                                              const LoadedModel& target);

// Prompts that are read where nobody says how many.
inline constexpr int kFewPrompts = 8;
inline constexpr char kFewHelp[] = "8 if not given, or all if there are fewer.";

// `wanted` prompts of a workload file, evenly spaced, or all if it is 0,
// by their numbers in it; kFewPrompts, or all if there are fewer, if there is
// no `wanted`. Fails if there are not as many as are wanted. With `chat` each
// is a user's first message in the template of that name, or in the model's own
// if the name is empty.
absl::StatusOr<std::vector<Prompt>> ReadPrompts(
    const std::string& workload, std::optional<int> wanted,
    const LoadedModel& target,
    const std::optional<std::string>& chat = std::nullopt);

struct PreparedRun {
  std::vector<PreparedCell> cells;
  std::vector<PreparedPrompt> prompts;
  int workload_prompts = 0;  // in the file: later turns are numbered from there

  int left_out = 0;  // later turns, where nothing says how to write chats
  std::vector<std::string> notes;  // what a reader should know

  // The prompts in the units that are decoded in one go, by their places: one
  // each, unless cells decode several at a time. Then every unit has as many as
  // possible up to twice the largest batch, so that half of them take the place
  // of another, and the units are as equal as can be.
  std::vector<std::vector<std::size_t>> Units() const;

  int turns() const;  // of all prompts
};

// Fails, each at its place, for targets that cannot be opened on `outline`, a
// shelf without weights, and for models of methods that are not there: what can
// be known before anything is measured.
absl::Status CheckModels(const Experiment& experiment, ModelShelf& outline);

// What could not be read (an empty workload, cells whose target has no
// directory) is passed over: why, the caller knows.
//
// Opens every model and builds every method, in memory that they share. Cells
// of one setting share a method that carries no state. What
// is wrong with any cell or prompt is told at once, one line each: what a
// method file can get wrong, prompts that do not fit a context with the tokens
// wanted, targets that cut the workload into different tokens.
// `progress`, if there is one, is called before each cell.
absl::StatusOr<PreparedRun> PrepareRun(
    const Experiment& experiment, const Workload& workload, ModelShelf& shelf,
    std::shared_ptr<const Clock> clock,
    const std::function<void(int done, int all)>& progress = nullptr);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_RUN_PREPARED_RUN_H_
