// The keys that Metaspace has both as pre-tokenizer and as decoder.
#ifndef BANYAN_CORE_TOKENIZER_STEPS_METASPACE_H_
#define BANYAN_CORE_TOKENIZER_STEPS_METASPACE_H_

#include <string>

#include "absl/status/statusor.h"
#include "core/json/json_at.h"

namespace banyan {

struct Metaspace {
  // Which pieces of a text get the replacement put before them, unless they
  // begin with it: the one at the start, each between added tokens, or none.
  enum class Prepend { kFirst, kAlways, kNever };

  std::string replacement;  // of a space: one character
  Prepend prepend = Prepend::kAlways;
  bool splits = true;
};

// Also the older form, with add_prefix_space in the place of prepend_scheme.
absl::StatusOr<Metaspace> ReadMetaspace(const JsonAt& json);

}  // namespace banyan

#endif  // BANYAN_CORE_TOKENIZER_STEPS_METASPACE_H_
