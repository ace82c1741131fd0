// Records in forms that other programs read.
#ifndef BANYAN_EXPERIMENTS_REPORT_EXPORT_H_
#define BANYAN_EXPERIMENTS_REPORT_EXPORT_H_

#include <ostream>

#include "absl/status/status.h"
#include "experiments/records/record_set.h"
#include "experiments/report/page/token_texts.h"

namespace banyan {

// One prompt record a line, as JSON: `cell`, `baseline` (its name, or null),
// `experiment_hash`, `setting` (the message Cell) and `record` (the message
// PromptRecord), with the names of the schema and every field. As protobuf
// writes JSON, 64-bit integers are texts. python/ reads record files
// themselves.
absl::Status ExportJsonLines(const RecordSet& set, std::ostream& out);

// The context of every file a line, as JSON in the same way, with its `path`
// before it: build, machine, when, and the whole experiment.
absl::Status ExportContexts(const RecordSet& set, std::ostream& out);

// Spec-Bench's answer rows, one question a line: question_id, category,
// answer_id, model_id (the cell), tstamp, and choices with one entry: index;
// by turn turns, decoding_steps, new_tokens, wall_time (seconds, the prefill in
// it); and accept_lengths (by round, the correction or bonus in it).
absl::Status ExportSpecBench(const RecordSet& set, TokenTexts& texts,
                             std::ostream& out);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_REPORT_EXPORT_H_
