// Token ids to text as they come.
#ifndef BANYAN_CORE_TOKENIZER_STREAM_DECODER_H_
#define BANYAN_CORE_TOKENIZER_STREAM_DECODER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/token.h"
#include "core/tokenizer/steps/decoder.h"
#include "core/tokenizer/tokenizer.h"

namespace banyan {

// What Push and Finish have given is together what Tokenizer::Decode gives for
// all the ids. Text is never taken back, so it is held back while what follows
// may change it: a character that lacks bytes, and in vocabularies with byte
// tokens a run of these. For one thread.
class StreamDecoder {
 public:
  // The tokenizer must outlive it. With `skip_special` special tokens give no
  // text.
  explicit StreamDecoder(const Tokenizer& tokenizer, bool skip_special = false);

  // The text that is certain now and was not before, whole characters, maybe
  // none. Fails with InvalidArgument on an id without token, and then changes
  // nothing.
  absl::StatusOr<std::string> Push(TokenId id);

  // The rest. The last call.
  std::string Finish();

 private:
  const Tokenizer& tokenizer_;
  bool skip_special_;
  std::vector<std::unique_ptr<DecodeStage>> stages_;
};

}  // namespace banyan

#endif  // BANYAN_CORE_TOKENIZER_STREAM_DECODER_H_
