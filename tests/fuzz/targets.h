// What the fuzzers run, and what the corpus test runs over their corpora: a
// reader of outside text, with everything it promises of any text checked.
#ifndef BANYAN_TESTS_FUZZ_TARGETS_H_
#define BANYAN_TESTS_FUZZ_TARGETS_H_

#include "core/base/common.h"

namespace banyan {

// Reads `text` as JSON, as a configuration, as paths or as a tokenizer.json,
// and returns how that went. Ends the program if the reader broke a promise: a
// value without its place, an error without a place in the text, JSON that
// another reader takes otherwise, paths that do not survive being written and
// read again, a tokenizer that gives ids beyond its vocabulary or other text in
// parts than at once.
absl::Status FuzzJson(absl::string_view text);
absl::Status FuzzYaml(absl::string_view text);
absl::Status FuzzPathsJson(absl::string_view text);
absl::Status FuzzTokenizerJson(absl::string_view text);

// The same of a model's files: a safetensors file, a GGUF file (with its config
// and its tokenizer) and config.json. Promises: tensors cover the file's data
// once, rows can be read, the sizes and weights of an architecture can be, an
// error names the file.
absl::Status FuzzSafetensors(absl::string_view text);
absl::Status FuzzGguf(absl::string_view text);
absl::Status FuzzConfigJson(absl::string_view text);

// Reads `text` as the header of a packed model, opens the model and reads all
// of it. Promises: a header survives being written and read, a model that was
// opened can be read, numbers that are not finite or do not have their checksum
// are refused, an error names the file.
absl::Status FuzzPack(absl::string_view text);

// Reads `text` as the entries of a record file, "---" between two: each a
// message of record.proto in protobuf's text form, or else the bytes that stand
// for one. Promises: what is accepted can be reported and exported in every
// form, an error names the file and the byte.
absl::Status FuzzRecords(absl::string_view text);

// Ends the program unless `status` is InvalidArgument, "corpus:message", short
// and in letters that can be printed.
void CheckMessage(const absl::Status& status);
// Ends the program unless `status` is InvalidArgument, "corpus:line:column:
// message", at a place in the text.
void CheckPlacedMessage(const absl::Status& status, absl::string_view text);

}  // namespace banyan

#endif  // BANYAN_TESTS_FUZZ_TARGETS_H_
