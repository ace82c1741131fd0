// The text files of a model, wherever it is: of a directory, a GGUF file or a
// packed model.
#ifndef BANYAN_CORE_GGUF_MODEL_TEXT_H_
#define BANYAN_CORE_GGUF_MODEL_TEXT_H_

#include <cstddef>
#include <string>

#include "core/base/common.h"
#include "core/gguf/gguf_file.h"
#include "core/json/json_value.h"

namespace banyan {

// A GGUF file's keys as the config.json that the model's family has.

// Factors of the frequencies of rotary positions, which Llama 3.1 brought.
inline constexpr char kRopeFactors[] = "rope_freqs.weight";

// Of the architectures llama, qwen2, qwen3 and gpt2. Errors name the keys of
// the file. The vocabulary's size is that of the embedding, whether the head is
// tied follows from whether it is there. A key that would change the model in a
// way that is not read is refused (gguf_keys.h).
absl::StatusOr<JsonValue> GgufConfig(const Gguf& contents,
                                     const std::string& file);

// How a tensor of the file stands among a family's tensors.
struct GgufPlace {
  std::string name;  // there
  // The rows of a head, if they stand in pairs: row 2i of the file is row i,
  // and 2i + 1 is row i + half of them. 0: they stand as they are.
  int paired_rows = 0;
  bool turned = false;  // the family stores its columns as rows
};

// Where the tensor of this name belongs. A name that the architecture does not
// have is its own place, and GgufConfig refuses it. Requires a file of a known
// architecture.
GgufPlace PlaceOf(const Gguf& contents, absl::string_view tensor);

// A GGUF file's tokenizer as the files that the Hugging Face libraries read.

// tokenizer.json. Of the models `gpt2` (byte-level BPE), split before as its
// pre-tokenizer's name says, and `llama` (sentencepiece), whose merges are made
// of its tokens' scores: of all pairs of tokens that are a token together, in
// the order of falling scores. Errors name the keys of the file.
absl::StatusOr<std::string> GgufTokenizer(const Gguf& contents,
                                          const std::string& file);

// tokenizer_config.json: begin, end, unknown and padding token, and the chat
// template.
absl::StatusOr<std::string> GgufTokenizerConfig(const Gguf& contents,
                                                const std::string& file);

// The text files of a model: of a directory, a GGUF file or a packed model.

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
