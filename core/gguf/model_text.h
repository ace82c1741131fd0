// The text files of a model, whether it is a directory or a GGUF file.
#ifndef BANYAN_CORE_GGUF_MODEL_TEXT_H_
#define BANYAN_CORE_GGUF_MODEL_TEXT_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace banyan {

// MODEL/NAME of a directory, with ReadFile's errors. Of a GGUF file
// (gguf_file.h) what it says in the place of config.json, tokenizer.json or
// tokenizer_config.json; NotFound for another name, or if it has no tokenizer.
absl::StatusOr<std::string> ReadModelText(const std::string& model,
                                          absl::string_view name,
                                          std::size_t max_bytes);

// What messages about such a text name: "MODEL/NAME", or the GGUF file.
std::string ModelTextName(const std::string& model, absl::string_view name);

}  // namespace banyan

#endif  // BANYAN_CORE_GGUF_MODEL_TEXT_H_
