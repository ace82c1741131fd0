// What tokenizer_config.json adds to tokenizer.json.
#ifndef BANYAN_CORE_TOKENIZER_TOKENIZER_CONFIG_H_
#define BANYAN_CORE_TOKENIZER_TOKENIZER_CONFIG_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace banyan {

struct TokenizerConfig {
  std::string file;  // for messages
  std::optional<std::string> bos_token;
  std::optional<std::string> eos_token;
  // If either is stated, the two of them, false where absent, stand in the
  // place of the post-processor.
  std::optional<bool> add_bos_token;
  std::optional<bool> add_eos_token;
  std::string chat_template;  // Jinja; empty: none
};

// Reads these keys; all others, of which there are many, are not looked at. Of
// several named chat templates the one named "default" counts.
absl::StatusOr<TokenizerConfig> ParseTokenizerConfig(absl::string_view text,
                                                     const std::string& file);

}  // namespace banyan

#endif  // BANYAN_CORE_TOKENIZER_TOKENIZER_CONFIG_H_
