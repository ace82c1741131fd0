// A GGUF file's keys as the config.json that the model's family has.
#ifndef BANYAN_CORE_GGUF_GGUF_CONFIG_H_
#define BANYAN_CORE_GGUF_GGUF_CONFIG_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/gguf/gguf_file.h"
#include "core/json/json_value.h"

namespace banyan {

// Factors of the frequencies of rotary positions, which Llama 3.1 brought.
inline constexpr char kRopeFactors[] = "rope_freqs.weight";

// Of the architectures llama, qwen2, qwen3 and gpt2. Errors name the keys of
// the file. The vocabulary's size is that of the embedding, whether the head is
// tied follows from whether it is there. A key that would change the model in a
// way that is not read is refused (gguf_unread_keys.h).
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

}  // namespace banyan

#endif  // BANYAN_CORE_GGUF_GGUF_CONFIG_H_
