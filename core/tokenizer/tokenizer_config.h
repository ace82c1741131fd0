// What tokenizer_config.json adds to tokenizer.json.
#ifndef BANYAN_CORE_TOKENIZER_TOKENIZER_CONFIG_H_
#define BANYAN_CORE_TOKENIZER_TOKENIZER_CONFIG_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace banyan {

// Whether a text begins with bos_token and ends with eos_token.
struct TokensAround {
  bool bos = false;
  bool eos = false;
};

struct TokenizerConfig {
  std::string file;  // for messages
  std::optional<std::string> bos_token;
  std::optional<std::string> eos_token;
  std::optional<std::string> unk_token;
  std::optional<std::string> pad_token;
  // What stands in the place of the post-processor; nothing: it stays.
  std::optional<TokensAround> around;
  std::string chat_template;  // Jinja; empty: none
};

// Reads these keys; all others, of which there are many, are not looked at. Of
// several named chat templates the one named "default" counts.
//
// `add_bos_token` and `add_eos_token` count where `tokenizer_class` is one of
// those that the library transformers, up to its version 4, writes the
// post-processor anew for: LlamaTokenizer, CodeLlamaTokenizer, GemmaTokenizer,
// CohereTokenizer and GPTNeoXTokenizer, each with or without Fast. One that is
// absent is what the class has by default, if the other is there; if neither is
// there, tokenizer.json decides, as it does for all other classes, and for
// these since version 5.
absl::StatusOr<TokenizerConfig> ParseTokenizerConfig(absl::string_view text,
                                                     const std::string& file);

}  // namespace banyan

#endif  // BANYAN_CORE_TOKENIZER_TOKENIZER_CONFIG_H_
