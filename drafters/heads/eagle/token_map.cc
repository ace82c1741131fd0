#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "core/base/common.h"
#include "core/base/messages.h"
#include "core/base/number_rows.h"
#include "core/base/token.h"
#include "core/checkpoint/architecture.h"
#include "core/checkpoint/checkpoint.h"
#include "core/checkpoint/stored_tensor.h"
#include "drafters/heads/eagle/layouts.h"

namespace banyan {
namespace {

using Numbers = std::vector<std::int64_t>;

// The numbers of a table, whatever integers it holds.
absl::StatusOr<Numbers> ReadTable(const StoredTensor& table, int rows) {
  if (table.shape != std::vector<std::int64_t>{rows})
    return absl::InvalidArgumentError(absl::StrCat(
        "expected shape [", rows, "], found ", ShapeText(table.shape)));
  Numbers numbers(static_cast<std::size_t>(rows));
  const auto read = [&](auto one) {
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      std::memcpy(&one, table.data.data() + i * sizeof(one), sizeof(one));
      numbers[i] = one;
    }
  };
  switch (table.dtype) {
    case DType::kI64:
      read(std::int64_t{});
      return numbers;
    case DType::kI32:
      read(std::int32_t{});
      return numbers;
    case DType::kBool:
    case DType::kU8:
      read(std::uint8_t{});
      return numbers;
    default:
      return absl::InvalidArgumentError(absl::StrCat(
          "expected I64, I32 or BOOL, found ", DTypeName(table.dtype)));
  }
}

// One head's tables.
class TokenMap {
 public:
  TokenMap(const Checkpoint& checkpoint, const EagleTarget& target,
           const EagleSpec& spec)
      : checkpoint_(checkpoint), vocab_(target.vocab_size), spec_(spec) {}

  absl::StatusOr<std::vector<TokenId>> Read() {
    BANYAN_RETURN_IF_ERROR(ReadKept());
    BANYAN_ASSIGN_OR_RETURN(const std::vector<TokenId> mapped, ReadMapped());
    const WeightSource& head = checkpoint_.architecture().head;
    if (head.present() && (Has(kLogitMap) || head.rows != vocab_)) {
      if (!Has(kLogitMap)) return NeedsMap();
      return mapped;
    }
    // The target's rows, of which some count.
    if (spec_.own_vocabulary && kept_.empty())
      return head.present() ? NeedsMap()
                            : ErrorAt(kKept,
                                      "expected it, for the output matrix is "
                                      "the target's and has more rows than "
                                      "draft_vocab_size");
    std::vector<TokenId> tokens;
    for (std::size_t i = 0; i < kept_.size(); ++i)
      tokens.push_back(kept_[i] != 0 ? static_cast<TokenId>(i) : -1);
    return tokens;
  }

 private:
  bool Has(const char* table) const {
    return checkpoint_.Find(table) != nullptr;
  }

  absl::Status ErrorAt(const char* table, absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat(
        checkpoint_.directory(), ": tensor ", QuotedName(table), ": ", what));
  }

  absl::Status NeedsMap() const {
    return ErrorAt(kLogitMap,
                   "expected it, for draft_vocab_size is not the target's "
                   "vocabulary");
  }

  absl::StatusOr<Numbers> ReadNamed(const char* name, int rows) const {
    const StoredTensor& stored = *checkpoint_.Find(name);
    auto table = ReadTable(stored, rows);
    BANYAN_RETURN_IF_ERROR(stored.CheckWhole());
    if (!table.ok()) return ErrorAt(name, table.status().message());
    return table;
  }

  absl::Status ReadKept() {
    if (!Has(kKept)) return absl::OkStatus();
    BANYAN_ASSIGN_OR_RETURN(kept_, ReadNamed(kKept, vocab_));
    const auto marked = static_cast<int>(
        kept_.end() - kept_.begin() -
        std::count(kept_.begin(), kept_.end(), std::int64_t{0}));
    if (marked == spec_.logits) return absl::OkStatus();
    return ErrorAt(kKept, absl::StrCat("expected ", spec_.logits,
                                       " tokens that have a logit, as "
                                       "draft_vocab_size says, found ",
                                       marked));
  }

  // The token of each logit of a matrix of the head's own.
  absl::StatusOr<std::vector<TokenId>> ReadMapped() const {
    std::vector<TokenId> tokens;
    if (!Has(kLogitMap)) return tokens;
    BANYAN_ASSIGN_OR_RETURN(const Numbers numbers,
                            ReadNamed(kLogitMap, spec_.logits));
    std::set<std::int64_t> seen;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const std::int64_t number = numbers[i];
      const auto wrong = [&](const auto&... what) {
        return ErrorAt(kLogitMap, absl::StrCat("row ", i, what...));
      };
      if (number > vocab_ || number < -vocab_)  // and could overflow
        return wrong(": its number ", number,
                     " leads outside the vocabulary of ", vocab_);
      const std::int64_t token =
          number + (spec_.map_is_tokens ? 0 : static_cast<std::int64_t>(i));
      if (token < 0 || token >= vocab_)
        return wrong(": its number ", number, " leads to token ", token,
                     ", outside the vocabulary of ", vocab_);
      if (!seen.insert(token).second)
        return wrong(": a second one for token ", token);
      if (!kept_.empty() && kept_[static_cast<std::size_t>(token)] == 0)
        return wrong(" leads to token ", token, ", which t2d says has none");
      tokens.push_back(static_cast<TokenId>(token));
    }
    return tokens;
  }

  const Checkpoint& checkpoint_;
  const int vocab_;
  const EagleSpec& spec_;
  Numbers kept_;
};

}  // namespace

absl::StatusOr<std::vector<TokenId>> ReadTokens(const Checkpoint& checkpoint,
                                                const EagleTarget& target,
                                                const EagleSpec& spec) {
  return TokenMap(checkpoint, target, spec).Read();
}

}  // namespace banyan
