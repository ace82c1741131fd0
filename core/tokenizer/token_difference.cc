#include "core/tokenizer/token_difference.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/token.h"
#include "core/tokenizer/tokenizer.h"

namespace banyan {

std::vector<TokenDifference> DifferingTokens(const Tokenizer& target,
                                             const Tokenizer& drafter) {
  std::vector<TokenDifference> differing;
  const int common = std::min(target.vocab_size(), drafter.vocab_size());
  for (TokenId id = 0; id < common; ++id) {
    const auto its = target.TokenText(id);
    const auto own = drafter.TokenText(id);
    if (its.ok() && own.ok() && *its != *own)
      differing.push_back({id, std::string(*its), std::string(*own)});
  }
  return differing;
}

std::string Describe(const TokenDifference& difference) {
  return absl::StrCat("token ", difference.id, " is ",
                      QuotedToken(difference.drafter), " here and ",
                      QuotedToken(difference.target),
                      " in the target's tokenizer.json");
}

std::string QuotedToken(absl::string_view token) {
  return absl::StrCat("'", absl::Utf8SafeCEscape(token), "'");
}

}  // namespace banyan
