#include "core/tokenizer/vocabulary.h"

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>

#include "absl/strings/escaping.h"
#include "core/base/bytes.h"
#include "core/base/common.h"

namespace banyan {

namespace {

// In no UTF-8 text.
constexpr absl::string_view kEnd = "\xff";
constexpr absl::string_view kNone = "\xfe";

}  // namespace

std::string NameOfTokens(const Tokenizer& tokenizer) {
  std::uint64_t name = kFnv1aStart;
  for (TokenId id = 0; id < tokenizer.vocab_size(); ++id) {
    const absl::StatusOr<absl::string_view> text = tokenizer.TokenText(id);
    name = Fnv1a(BytesOf(text.value_or(kNone)), name);
    name = Fnv1a(BytesOf(kEnd), name);
  }
  return absl::StrFormat("%016x", name);
}

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

Spellings::Spellings(std::shared_ptr<const Tokenizer> tokenizer)
    : tokenizer_(std::move(tokenizer)),
      bytes_(static_cast<std::size_t>(tokenizer_->vocab_size())) {
  for (TokenId id = 0; id < tokenizer_->vocab_size(); ++id) {
    absl::StatusOr<std::string> bytes = tokenizer_->TokenBytes(id);
    if (!bytes.ok() || bytes->empty() || tokenizer_->IsSpecial(id)) continue;
    longest_ = std::max(longest_, bytes->size());
    bytes_[static_cast<std::size_t>(id)] = *std::move(bytes);
    sorted_.push_back(id);
  }
  std::sort(sorted_.begin(), sorted_.end(), [this](TokenId a, TokenId b) {
    return std::tie(BytesOf(a), a) < std::tie(BytesOf(b), b);
  });
}

const std::string& Spellings::BytesOf(TokenId id) const {
  static const auto& none = *new std::string();
  const auto at = static_cast<std::size_t>(id);
  return id >= 0 && at < bytes_.size() ? bytes_[at] : none;
}

std::optional<TokenId> Spellings::Find(absl::string_view bytes) const {
  const auto behind =
      std::upper_bound(sorted_.begin(), sorted_.end(), bytes,
                       [this](absl::string_view wanted, TokenId id) {
                         return wanted < BytesOf(id);
                       });
  if (behind == sorted_.begin() || BytesOf(*(behind - 1)) != bytes)
    return std::nullopt;
  return *(behind - 1);
}

bool Spellings::BeginsLonger(absl::string_view bytes) const {
  // Tokens that begin with `bytes` and go on come first after `bytes`.
  const auto behind =
      std::upper_bound(sorted_.begin(), sorted_.end(), bytes,
                       [this](absl::string_view wanted, TokenId id) {
                         return wanted < BytesOf(id);
                       });
  return behind != sorted_.end() && absl::StartsWith(BytesOf(*behind), bytes);
}

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
