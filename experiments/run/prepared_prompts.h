// Prompts in the tokens of an experiment's targets.
#ifndef BANYAN_EXPERIMENTS_RUN_PREPARED_PROMPTS_H_
#define BANYAN_EXPERIMENTS_RUN_PREPARED_PROMPTS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/token.h"
#include "decode/sequence.h"
#include "experiments/models/loaded_model.h"
#include "experiments/plan/workload.h"
#include "experiments/run/prepared_cells.h"

namespace banyan {

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

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_RUN_PREPARED_PROMPTS_H_
