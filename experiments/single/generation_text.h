// What `banyan generate` says of a generated text.
#ifndef BANYAN_EXPERIMENTS_SINGLE_GENERATION_TEXT_H_
#define BANYAN_EXPERIMENTS_SINGLE_GENERATION_TEXT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "core/json/json_value.h"
#include "core/model/model.h"
#include "decode/method.h"
#include "experiments/single/generation.h"

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

// One line, without its end. Requires a round and a token.
std::string Summary(const Generation& generation,
                    const GenerationSetting& setting);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_SINGLE_GENERATION_TEXT_H_
