// Counting tokens, and which follows which.
#ifndef BANYAN_EXPERIMENTS_TOOLS_TOKEN_COUNTER_H_
#define BANYAN_EXPERIMENTS_TOOLS_TOKEN_COUNTER_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "core/base/token.h"
#include "drafters/text/token_counts.h"

namespace banyan {

class TokenCounter {
 public:
  explicit TokenCounter(int vocab_size);

  // Counts the tokens of a document and its pairs; none goes from one document
  // into another. Fails if a token is outside the vocabulary, or a pair is seen
  // more often than the file's 32 bits can say.
  absl::Status Add(absl::Span<const TokenId> document);

  std::int64_t documents() const { return documents_; }
  std::int64_t tokens() const { return tokens_; }
  // Distinct pairs.
  std::int64_t pairs() const {
    return static_cast<std::int64_t>(pairs_.size());
  }

  // As they go into a file.
  TokenCounts counts() const;

 private:
  std::vector<std::int64_t> unigram_;
  absl::flat_hash_map<std::uint64_t, std::int32_t> pairs_;
  std::int64_t documents_ = 0;
  std::int64_t tokens_ = 0;
};

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_TOOLS_TOKEN_COUNTER_H_
