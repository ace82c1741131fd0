// The text of recorded tokens.
#ifndef BANYAN_EXPERIMENTS_REPORT_PAGE_TOKEN_TEXTS_H_
#define BANYAN_EXPERIMENTS_REPORT_PAGE_TOKEN_TEXTS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "core/tokenizer/tokenizer.h"

namespace banyan {

// Records name directories, not vocabularies. Where the directory still is, its
// tokenizer gives the texts; where it is not, a token is "<17>". Reads a
// tokenizer when it is first asked for. Not safe for concurrent use.
class TokenTexts {
 public:
  // The text of one token by itself, of a model in `directory`. It refers to
  // this object.
  std::function<std::string(std::uint32_t)> Of(const std::string& directory);
  // The text of tokens together, special tokens left out.
  std::string Together(const std::string& directory,
                       absl::Span<const std::uint32_t> ids);

 private:
  // Null if there is none.
  const Tokenizer* Find(const std::string& directory);

  std::map<std::string, std::unique_ptr<Tokenizer>> tokenizers_;
};

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_REPORT_PAGE_TOKEN_TEXTS_H_
