// The section `post_processor` of tokenizer.json: the ids that go around those
// of a text. Known: null, ByteLevel (which moves offsets only), Sequence,
// TemplateProcessing (its template for one text).
#ifndef BANYAN_CORE_TOKENIZER_STEPS_POST_PROCESSOR_H_
#define BANYAN_CORE_TOKENIZER_STEPS_POST_PROCESSOR_H_

#include <vector>

#include "absl/status/statusor.h"
#include "core/base/token.h"
#include "core/json/json_at.h"

namespace banyan {

struct PostProcessor {
  std::vector<TokenId> before;
  std::vector<TokenId> after;
};

// Refuses what it does not know. Whether the ids exist is for the caller.
absl::StatusOr<PostProcessor> ReadPostProcessor(const JsonAt& json);

}  // namespace banyan

#endif  // BANYAN_CORE_TOKENIZER_STEPS_POST_PROCESSOR_H_
