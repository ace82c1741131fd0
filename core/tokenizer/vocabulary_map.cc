#include "core/tokenizer/vocabulary_map.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/base/token.h"
#include "core/tokenizer/spellings.h"
#include "core/tokenizer/tokenizer.h"

namespace banyan {

VocabularyMap::VocabularyMap(std::shared_ptr<const Tokenizer> target,
                             std::shared_ptr<const Tokenizer> drafter,
                             const TextEnds& ends)
    : target_(std::move(target)), drafter_(std::move(drafter)) {
  const int size = target_.tokenizer().vocab_size();
  drafter_of_.resize(static_cast<std::size_t>(size));
  for (TokenId id = 0; id < size; ++id) {
    const std::string& bytes = target_.BytesOf(id);
    if (bytes.empty()) continue;
    const std::optional<TokenId> same = drafter_.Find(bytes);
    drafter_of_[static_cast<std::size_t>(id)] = same;
    if (same.has_value() && target_.Find(bytes) == id) Add(id, *same);
  }
  AddSpecial();
  if (ends.target.has_value() && ends.drafter.has_value())
    MakeSame(*ends.target, *ends.drafter);
  std::sort(common_.begin(), common_.end(),
            [](const Pair& a, const Pair& b) { return a.target < b.target; });
}

void VocabularyMap::AddSpecial() {
  const Tokenizer& target = target_.tokenizer();
  const Tokenizer& drafter = drafter_.tokenizer();
  for (TokenId id = 0; id < target.vocab_size(); ++id) {
    const auto text = target.TokenText(id);
    if (!text.ok() || !target.IsSpecial(id)) continue;
    const std::optional<TokenId> same = drafter.FindToken(*text);
    if (same.has_value() && drafter.IsSpecial(*same)) MakeSame(id, *same);
  }
}

void VocabularyMap::MakeSame(TokenId target, TokenId drafter) {
  const auto at = static_cast<std::size_t>(target);
  const bool known = target >= 0 && at < drafter_of_.size();
  const bool taken = taken_.find(drafter) != taken_.end();
  if (!known || taken || drafter_of_[at].has_value()) return;
  drafter_of_[at] = drafter;
  Add(target, drafter);
}

void VocabularyMap::Add(TokenId target, TokenId drafter) {
  common_.push_back({target, drafter});
  taken_.insert(drafter);
}

std::optional<TokenId> VocabularyMap::DrafterOf(TokenId target) const {
  const auto at = static_cast<std::size_t>(target);
  if (target < 0 || at >= drafter_of_.size()) return std::nullopt;
  return drafter_of_[at];
}

}  // namespace banyan
