// PendingRows: the bookkeeping every session needs of rows that were scored and
// not yet committed.
#ifndef BANYAN_CORE_MODEL_PENDING_ROWS_H_
#define BANYAN_CORE_MODEL_PENDING_ROWS_H_

#include <cstddef>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "core/base/token.h"

namespace banyan {

class PendingRows {
 public:
  struct Row {
    TokenId token;
    int parent;
    int position;
  };
  // Whether a token may stand at a position.
  using CheckToken =
      absl::FunctionRef<absl::Status(TokenId token, int position)>;

  int size() const { return static_cast<int>(rows_.size()); }
  const Row& operator[](int row) const {
    return rows_[static_cast<std::size_t>(row)];
  }

  // Whether `batch` may follow: one position and parent per token, parents
  // before children, each position one after its parent's or `length`, the
  // committed length, shifted as the batch says, and all from 0 to `limit` - 1.
  absl::Status CheckBatch(const TokenBatch& batch, int length, int limit,
                          CheckToken check) const;
  // Whether `path` is a chain of rows from the committed prefix on.
  absl::Status CheckPath(absl::Span<const int> path) const;

  // Requires that it passed CheckBatch.
  void Append(const TokenBatch& batch);
  void Clear() { rows_.clear(); }

 private:
  std::vector<Row> rows_;
};

// Returns OutOfRange: `tokens` tokens do not fit a context of `limit`.
absl::Status OverContextLimit(int tokens, int limit);

}  // namespace banyan

#endif  // BANYAN_CORE_MODEL_PENDING_ROWS_H_
