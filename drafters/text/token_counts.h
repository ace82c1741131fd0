// How often each token stands in some texts, and each one after another: what
// `banyan make counts` writes and the drafters unigram and bigram read.
//
// The file is in the safetensors format, with exactly these tensors, for a
// vocabulary of V and N pairs of tokens that were seen:
//
//   unigram         I64 [V]      how often token t was seen
//   bigram.offsets  I64 [V + 1]  the tokens seen after t are entries
//                                offsets[t] to offsets[t + 1] - 1 of
//   bigram.tokens   I32 [N]      these, ascending for each t,
//   bigram.counts   I32 [N]      each seen so often after t, at least once
#ifndef BANYAN_DRAFTERS_TEXT_TOKEN_COUNTS_H_
#define BANYAN_DRAFTERS_TEXT_TOKEN_COUNTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/token.h"

namespace banyan {

// The tensors of a file.
struct TokenCounts {
  std::vector<std::int64_t> unigram;
  std::vector<std::int64_t> offsets;
  std::vector<TokenId> tokens;
  std::vector<std::int32_t> counts;
};

// Reads and checks the whole file. NotFound if there is none; InvalidArgument,
// which names the file, the tensor, what was found and what was expected, if it
// is not as above, counts nothing, or is not of `vocab_size` tokens.
absl::StatusOr<TokenCounts> ReadTokenCounts(const std::string& path,
                                            int vocab_size);

// Requires counts as above. Fails as SafetensorsWriter; no half a file is left.
absl::Status WriteTokenCounts(const std::string& path,
                              const TokenCounts& counts);

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_TEXT_TOKEN_COUNTS_H_
