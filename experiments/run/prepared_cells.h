// An experiment's cell, ready to decode.
#ifndef BANYAN_EXPERIMENTS_RUN_PREPARED_CELLS_H_
#define BANYAN_EXPERIMENTS_RUN_PREPARED_CELLS_H_

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "core/base/clock.h"
#include "core/tokenizer/chat_template.h"
#include "decode/method.h"
#include "decode/sequence.h"
#include "drafters/workbench.h"
#include "experiments/loading/method_file.h"
#include "experiments/loading/model_shelf.h"
#include "experiments/plan/experiment.h"
#include "experiments/records/record.pb.h"
#include "experiments/run/fingerprint.h"

namespace banyan {

struct PreparedCell {
  records::Cell description;
  // All that was read for it, by the path that was asked for.
  std::map<std::string, FileStates> files;
  LoadedModel target;
  LoadedMethod method;
  std::optional<ChatTemplate> chat;
  StopRule stop;
  bool carries_state = false;  // some drafter's, from prompt to prompt
  int batch = 1;               // prompts decoded at a time
  std::string memory;          // that bounds the target; empty: nothing does
  // The number of the first cell that decodes by the same SettingOf
  // (experiments/plan/experiment.h); its own if there is none before it.
  std::size_t setting = 0;
  // Null, or what opens the cell with its weights for a turn, without a
  // description, where this one has none: several cells whose memory is bounded
  // are in memory one at a time.
  std::function<absl::StatusOr<PreparedCell>()> open = nullptr;
};

// A cell that can decode: the one that was prepared, or one that is open as
// long as this.
class OpenCell {
 public:
  // FailedPrecondition, with the file's name, if a file is not the one that the
  // cell was prepared with; else fails as a method file does.
  static absl::StatusOr<OpenCell> Of(PreparedCell& cell);

  PreparedCell& operator*() { return opened_ ? *opened_ : *prepared_; }
  // Whether it was opened for this turn, and knows of no prompt before.
  bool is_new() const { return opened_ != nullptr; }

 private:
  PreparedCell* prepared_ = nullptr;
  std::unique_ptr<PreparedCell> opened_;
};

// Opens its models and builds its method. Of `workload` it reads how chats are
// written. Fails as a method file does.
absl::StatusOr<PreparedCell> PrepareCell(
    const ExperimentCell& cell, const WorkloadSpec& workload, ModelShelf& shelf,
    const std::shared_ptr<const Clock>& clock);

// A cell of the setting of `prepared`, with its own seed and description, that
// shares its method, which carries no state.
PreparedCell WithSeedOf(const ExperimentCell& cell,
                        const PreparedCell& prepared);

// PrepareCell without weights, which `open` opens on the backend of `shelf`.
// `outline` is a shelf without weights on that backend, for all such cells.
absl::StatusOr<PreparedCell> PrepareInTurn(
    const ExperimentCell& cell, const WorkloadSpec& workload,
    const ModelShelf& shelf, ModelShelf& outline,
    const std::shared_ptr<const Clock>& clock);

// A cell as its records describe it.

// Sets `prepared.description`, of what `cell` asked for and `prepared` became,
// and `prepared.files`. `assets` is what the cell was opened with, and since
// its last TakePaths() nothing else was: it has the paths of all that was read.
void DescribeCell(const ExperimentCell& cell, Assets& assets,
                  PreparedCell& prepared);

// Replaces in `out` all that differs between cells of one setting: names, seed,
// baseline and opponents.
void DescribePlace(const ExperimentCell& cell, records::Cell& out);

// What decoding gives, as what a record file holds.

records::DrawKind ToRecord(DrawKind draw_kind);
records::Stop ToRecord(StopReason reason);

// Adds a round, with its emitted tokens and what the target says of them.
// Requires that the round kept its facts.
void AddRound(const RoundRecord& round, records::PromptRecord& record);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_RUN_PREPARED_CELLS_H_
