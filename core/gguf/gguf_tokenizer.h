// A GGUF file's tokenizer as the files that the Hugging Face libraries read.
#ifndef BANYAN_CORE_GGUF_GGUF_TOKENIZER_H_
#define BANYAN_CORE_GGUF_GGUF_TOKENIZER_H_

#include <string>

#include "absl/status/statusor.h"
#include "core/gguf/gguf_file.h"

namespace banyan {

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

}  // namespace banyan

#endif  // BANYAN_CORE_GGUF_GGUF_TOKENIZER_H_
