// What the fuzzers of a model's files run, as targets.h has it for the other
// readers.
#ifndef BANYAN_TESTS_FUZZ_MODEL_TARGETS_H_
#define BANYAN_TESTS_FUZZ_MODEL_TARGETS_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace banyan {

// Reads `text` as a safetensors file, as a GGUF file (with its config and its
// tokenizer) or as config.json, and returns how that went. Ends the program if
// the reader broke a promise: tensors that do not cover the file's data once,
// rows that cannot be read, an architecture whose sizes or weights cannot be,
// an error that does not name the file.
absl::Status FuzzSafetensors(absl::string_view text);
absl::Status FuzzGguf(absl::string_view text);
absl::Status FuzzConfigJson(absl::string_view text);

}  // namespace banyan

#endif  // BANYAN_TESTS_FUZZ_MODEL_TARGETS_H_
