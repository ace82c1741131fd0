#include "tests/drafters/text/passages.h"

#include <algorithm>
#include <cstddef>
#include <tuple>

namespace banyan {

std::vector<TokenId> SomeTokens(Dice& dice, int count, int vocab_size) {
  std::vector<TokenId> tokens;
  for (int i = 0; i < count; ++i) tokens.push_back(dice.Below(vocab_size));
  return tokens;
}

std::vector<TokenId> Last(const std::vector<TokenId>& text, int count) {
  return {text.end() - count, text.end()};
}

std::vector<std::pair<int, int>> EndsOf(const std::vector<TokenId>& passage,
                                        const Texts& texts) {
  std::vector<std::pair<int, int>> ends;
  for (std::size_t i = 0; i < texts.size(); ++i)
    for (std::size_t end = passage.size(); end <= texts[i].size(); ++end)
      if (std::equal(passage.begin(), passage.end(),
                     texts[i].begin() +
                         static_cast<std::ptrdiff_t>(end - passage.size())))
        ends.emplace_back(static_cast<int>(i), static_cast<int>(end));
  return ends;
}

int CountOf(const std::vector<TokenId>& passage, const Texts& texts) {
  return static_cast<int>(EndsOf(passage, texts).size());
}

std::vector<TokenId> FollowersOf(const std::vector<TokenId>& passage,
                                 const Texts& texts, int vocab_size) {
  std::vector<std::tuple<int, std::pair<int, int>, TokenId>> found;
  std::vector<TokenId> longer = passage;
  longer.push_back(0);
  for (TokenId token = 0; token < vocab_size; ++token) {
    longer.back() = token;
    const std::vector<std::pair<int, int>> ends = EndsOf(longer, texts);
    if (!ends.empty())
      found.emplace_back(static_cast<int>(ends.size()), ends.back(), token);
  }
  std::sort(found.rbegin(), found.rend());
  std::vector<TokenId> tokens;
  for (const auto& [count, last, token] : found) tokens.push_back(token);
  return tokens;
}

}  // namespace banyan
