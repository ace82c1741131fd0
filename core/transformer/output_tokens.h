// The tokens that a model has logits for, where they are not its vocabulary's.
#ifndef BANYAN_CORE_TRANSFORMER_OUTPUT_TOKENS_H_
#define BANYAN_CORE_TRANSFORMER_OUTPUT_TOKENS_H_

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "core/base/token.h"

namespace banyan {

struct OutputTokens {
  OutputTokens() = default;
  // token_of[i] is the token of logit column i; columns with -1 are ignored.
  explicit OutputTokens(const std::vector<TokenId>& token_of) {
    std::vector<std::pair<TokenId, int>> all;
    for (std::size_t i = 0; i < token_of.size(); ++i)
      if (token_of[i] >= 0) all.emplace_back(token_of[i], static_cast<int>(i));
    std::sort(all.begin(), all.end());
    for (const auto& [token, column] : all) {
      tokens.push_back(token);
      columns.push_back(column);
    }
  }

  // True if column i is token i for the whole vocabulary.
  bool all() const { return tokens.empty(); }
  // By token of a vocabulary its column, -1 if it has none; empty for all().
  std::vector<int> ByToken(int vocab_size) const {
    if (all()) return {};
    std::vector<int> by_token(static_cast<std::size_t>(vocab_size), -1);
    for (std::size_t i = 0; i < tokens.size(); ++i)
      by_token[static_cast<std::size_t>(tokens[i])] = columns[i];
    return by_token;
  }

  std::vector<TokenId> tokens;  // ascending
  std::vector<int> columns;     // theirs
};

}  // namespace banyan

#endif  // BANYAN_CORE_TRANSFORMER_OUTPUT_TOKENS_H_
