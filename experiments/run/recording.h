// What one cell decodes at a time, written down as records.
#ifndef BANYAN_EXPERIMENTS_RUN_RECORDING_H_
#define BANYAN_EXPERIMENTS_RUN_RECORDING_H_

#include <vector>

#include "core/base/common.h"
#include "core/base/token.h"
#include "decode/sequence.h"
#include "experiments/records/record.pb.h"
#include "experiments/run/prepared_cells.h"
#include "experiments/run/prepared_run.h"

namespace banyan {

// A prompt, or a turn of a chat.
struct Asked {
  const PreparedPrompt* prompt = nullptr;
  int turn = 0;
  int number = 0;  // of the record
  std::vector<TokenId> tokens;
};

// What the cell says to all that is asked, as many at a time as its batch is. A
// record each, without its place in the run. Fails as decoding does.
absl::StatusOr<std::vector<records::PromptRecord>> DecodeAsked(
    PreparedCell& cell, const std::vector<Asked>& asked, const StopRule& stop);

// The cell, which carries state, has decoded this prompt in an earlier run: has
// its drafters take over what it taught them. Fails if they cannot have said
// that.
absl::Status TakeOver(PreparedCell& cell, const records::PromptRecord& record);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_RUN_RECORDING_H_
