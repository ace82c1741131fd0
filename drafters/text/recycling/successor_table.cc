#include "drafters/text/recycling/successor_table.h"

#include <algorithm>
#include <cstddef>

#include "absl/types/span.h"
#include "core/base/check.h"
#include "core/base/token.h"

namespace banyan {

absl::Span<const TokenId> SuccessorTable::After(TokenId token) const {
  if (!Has(token)) return {};
  const auto width = static_cast<std::size_t>(width_);
  const absl::Span<const TokenId> row = absl::MakeSpan(ids_).subspan(
      static_cast<std::size_t>(token) * width, width);
  const auto end = std::find(row.begin(), row.end(), kNone);
  return row.first(static_cast<std::size_t>(end - row.begin()));
}

void SuccessorTable::Set(TokenId token, absl::Span<const TokenId> ranked) {
  Check(Has(token), "a token of the vocabulary");
  const auto width = static_cast<std::size_t>(width_);
  Check(!ranked.empty() && ranked.size() <= width, "successors that fit");
  if (After(token).empty()) ++known_;
  const auto row = ids_.begin() + static_cast<std::ptrdiff_t>(
                                      static_cast<std::size_t>(token) * width);
  std::fill(std::copy(ranked.begin(), ranked.end(), row), row + width_, kNone);
}

}  // namespace banyan
