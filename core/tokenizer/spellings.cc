#include "core/tokenizer/spellings.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "core/base/token.h"
#include "core/tokenizer/tokenizer.h"

namespace banyan {

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

}  // namespace banyan
