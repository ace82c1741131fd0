// The documents of a text file, and counts of their tokens.
#ifndef BANYAN_EXPERIMENTS_MAKERS_DOCUMENTS_H_
#define BANYAN_EXPERIMENTS_MAKERS_DOCUMENTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "core/base/common.h"
#include "core/base/token.h"
#include "drafters/text/token_counts.h"

namespace banyan {

// The documents of a text file.

// What is done with a document; `bytes_read` are those of the file up to its
// end.
using DocumentVisitor = absl::FunctionRef<absl::Status(
    absl::string_view text, std::int64_t bytes_read)>;

// Visits the documents of a file in order: of a file whose name ends in .jsonl
// the text under `text` in the JSON object on each line, as `training corpus`
// writes them, or each of those under `turns`, as `training talk` does; any
// other file is one document. NotFound if there is no such file;
// InvalidArgument if it cannot be read, is larger than 4 GiB, or has a line
// that is no such object; else the visitor's first error. What is wrong with a
// line or a document says "FILE:LINE: ", or "FILE: " where it is the whole
// file.
absl::Status ForEachDocument(const std::string& path, DocumentVisitor visit);

// Counting tokens, and which follows which.
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

#endif  // BANYAN_EXPERIMENTS_MAKERS_DOCUMENTS_H_
