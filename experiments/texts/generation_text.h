// What `banyan generate` says of a generated text.
#ifndef BANYAN_EXPERIMENTS_TEXTS_GENERATION_TEXT_H_
#define BANYAN_EXPERIMENTS_TEXTS_GENERATION_TEXT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "core/json/json_value.h"
#include "core/model/model.h"
#include "decode/method.h"
#include "experiments/texts/generation.h"

namespace banyan {

// What was run.
struct GenerationSetting {
  const Model& target;
  const Method& method;
  std::string method_name;
  std::string chat;                   // the template's name; empty: no chat
  std::vector<std::string> messages;  // the user's, of a chat
  std::uint64_t seed = 0;
  bool has_text = false;  // there is a tokenizer
};

// One text, or the answers of a chat in order: at least one.
JsonValue ToJson(absl::Span<const Generation> turns,
                 const GenerationSetting& setting);

// Returns lines, the last without its end: prompt, text, times and what was
// run. Requires a round and a token.
std::string Summary(const Generation& generation,
                    const GenerationSetting& setting);

// Plain decoding and a method on the same prompt, in turn.
struct BesidePlain {
  double plain_ms = 0;   // per token of the text
  double method_ms = 0;  // the same
  double tokens_per_pass = 0;
  std::optional<bool> same_text;  // none: they are drawn
  int pairs = 0;
};

// Returns one line: both speeds, their ratio, tokens per pass, the same text or
// not.
std::string BesidePlainLine(const BesidePlain& comparison,
                            const GenerationSetting& setting);
JsonValue ToJson(const BesidePlain& comparison);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_TEXTS_GENERATION_TEXT_H_
