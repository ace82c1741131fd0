// Keys of a GGUF file that change what a model computes and are not read here.
#ifndef BANYAN_CORE_GGUF_GGUF_UNREAD_KEYS_H_
#define BANYAN_CORE_GGUF_GGUF_UNREAD_KEYS_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "core/gguf/gguf_keys.h"

namespace banyan {

// Refuses each of them by name, unless it has a value with which the model is
// the same as without the key. A key that is not known changes nothing. `head`
// is the size of an attention head, `context` the most tokens of a text.
void RefuseUnreadKeys(absl::string_view architecture, std::int64_t head,
                      std::int64_t context, GgufKeys& in);

}  // namespace banyan

#endif  // BANYAN_CORE_GGUF_GGUF_UNREAD_KEYS_H_
