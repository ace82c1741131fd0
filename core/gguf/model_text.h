// The text files of a model: of a directory, a GGUF file or a packed model.
#ifndef BANYAN_CORE_GGUF_MODEL_TEXT_H_
#define BANYAN_CORE_GGUF_MODEL_TEXT_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace banyan {

// Whether a model's path names one file instead of a directory.
bool IsModelFile(absl::string_view path);

// MODEL/NAME of a directory, with ReadFile's errors. Of a packed model
// (core/pack/pack_file.h) the text of that name; of a GGUF file (gguf_file.h)
// what it says in the place of config.json, tokenizer.json or
// tokenizer_config.json. NotFound for another name, or if it has no tokenizer.
absl::StatusOr<std::string> ReadModelText(const std::string& model,
                                          absl::string_view name,
                                          std::size_t max_bytes);

// What messages about such a text name: "MODEL/NAME", or the model's file.
std::string ModelTextName(const std::string& model, absl::string_view name);

}  // namespace banyan

#endif  // BANYAN_CORE_GGUF_MODEL_TEXT_H_
