#include "experiments/run/prepared_cells.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "core/base/clock.h"
#include "core/base/params.h"
#include "core/base/status_macros.h"
#include "core/model/model.h"
#include "core/ops/backend.h"
#include "core/tokenizer/chat_template.h"
#include "decode/method.h"
#include "experiments/models/loaded_model.h"
#include "experiments/models/method_file.h"
#include "experiments/models/model_shelf.h"
#include "experiments/plan/experiment.h"
#include "experiments/plan/resolve.h"
#include "experiments/run/cell_description.h"
#include "experiments/run/fingerprint.h"

namespace banyan {
namespace {

// How the target writes chats; an error if it has no tokenizer, or nothing to
// know the template by.
absl::StatusOr<std::optional<ChatTemplate>> ReadChat(
    const WorkloadSpec& workload, const LoadedModel& target) {
  const std::string& name = workload.chat;
  if (name.empty()) return std::nullopt;
  const Origin& place = workload.section.PlaceOf("chat");
  if (target.tokenizer == nullptr)
    return ErrorAt(
        place, absl::StrCat("the target has no tokenizer to write chats with (",
                            target.no_tokenizer, ")"));
  absl::StatusOr<ChatTemplate> chat = ChatTemplate::ForModel(
      *target.tokenizer, name == kOwnTemplate ? "" : name);
  if (!chat.ok())
    return ErrorAt(place,
                   absl::StrCat("workload.chat: ", chat.status().message()));
  return *std::move(chat);
}

// A cell without a description.
absl::StatusOr<PreparedCell> OpenModels(
    const ExperimentCell& cell, const WorkloadSpec& workload, ModelShelf& shelf,
    const std::shared_ptr<const Clock>& clock) {
  const MethodContext context = {.target = cell.target,
                                 .shelf = shelf,
                                 .sampling = cell.sampling,
                                 .clock = clock,
                                 .target_place = cell.target_place};
  PreparedCell prepared;
  shelf.assets()->TakePaths();  // of other cells
  if (cell.method == kPlainMethod) {
    BANYAN_ASSIGN_OR_RETURN(prepared.method, PlainMethod(context));
  } else {
    BANYAN_ASSIGN_OR_RETURN(prepared.method, OpenMethod(cell.spec, context));
  }
  prepared.target = prepared.method.target;
  BANYAN_ASSIGN_OR_RETURN(prepared.chat, ReadChat(workload, prepared.target));
  prepared.method.decoder->KeepFacts();
  prepared.stop.max_new_tokens = cell.max_new_tokens;
  if (!cell.ignore_eos)
    prepared.stop.end_of_text = prepared.target.model->facts().end_of_text;
  prepared.carries_state = prepared.method.decoder->carries_state();
  prepared.batch = cell.batch;
  prepared.memory = cell.target.memory;
  return prepared;
}

}  // namespace

absl::StatusOr<PreparedCell> PrepareCell(
    const ExperimentCell& cell, const WorkloadSpec& workload, ModelShelf& shelf,
    const std::shared_ptr<const Clock>& clock) {
  BANYAN_ASSIGN_OR_RETURN(PreparedCell prepared,
                          OpenModels(cell, workload, shelf, clock));
  DescribeCell(cell, *shelf.assets(), prepared);
  return prepared;
}

PreparedCell WithSeedOf(const ExperimentCell& cell,
                        const PreparedCell& prepared) {
  PreparedCell other = prepared;
  DescribePlace(cell, other.description);
  return other;
}

absl::StatusOr<PreparedCell> PrepareInTurn(
    const ExperimentCell& cell, const WorkloadSpec& workload,
    const ModelShelf& shelf, ModelShelf& outline,
    const std::shared_ptr<const Clock>& clock) {
  const std::shared_ptr<Backend> backend = shelf.shared_backend();
  BANYAN_ASSIGN_OR_RETURN(PreparedCell prepared,
                          PrepareCell(cell, workload, outline, clock));
  prepared.open = [cell, workload, backend, clock] {
    ModelShelf own(backend);
    return OpenModels(cell, workload, own, clock);
  };
  return prepared;
}

absl::StatusOr<OpenCell> OpenCell::Of(PreparedCell& cell) {
  OpenCell open;
  open.prepared_ = &cell;
  if (cell.open) {
    absl::StatusOr<PreparedCell> opened = cell.open();
    // After opening, so that a file replaced while it was opened is found, and
    // before any other error, whose cause such a file may be.
    for (const auto& [path, states] : cell.files)
      BANYAN_RETURN_IF_ERROR(CheckUnchanged(path, states));
    BANYAN_RETURN_IF_ERROR(opened.status());
    opened->description = cell.description;
    open.opened_ = std::make_unique<PreparedCell>(*std::move(opened));
  }
  return open;
}

}  // namespace banyan
