// What decoding gives, as what a record file holds.
#ifndef BANYAN_EXPERIMENTS_RUN_TO_RECORD_H_
#define BANYAN_EXPERIMENTS_RUN_TO_RECORD_H_

#include "decode/commit.h"
#include "decode/method.h"
#include "decode/sequence.h"
#include "experiments/records/record.pb.h"

namespace banyan {

records::DrawKind ToRecord(DrawKind draw_kind);
records::Stop ToRecord(StopReason reason);

// Adds a round, with its emitted tokens and what the target says of them.
// Requires that the round kept its facts.
void AddRound(const RoundRecord& round, records::PromptRecord& record);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_RUN_TO_RECORD_H_
