// What every session keeps: the part of the text that a view sees, and the rows
// that were scored and not yet committed.
#ifndef BANYAN_CORE_MODEL_SESSION_STATE_H_
#define BANYAN_CORE_MODEL_SESSION_STATE_H_

#include <cstddef>
#include <vector>

#include "absl/functional/function_ref.h"
#include "core/base/common.h"
#include "core/base/token.h"

namespace banyan {

// SeenText: which part of the committed text a view sees.

// A view sees the first tokens, the latest tokens and, for each layer, the
// chunks between them that get the most attention from the first row that the
// view scores. Chunk c is the tokens c * chunk .. (c + 1) * chunk - 1.
struct SeenText {
  int first = 0;
  // At least `latest` tokens are seen, and less than a quarter more. Older ones
  // drop out in groups, at text lengths that do not depend on when the view was
  // made. 0: the view sees all of the text.
  int latest = 0;
  int chunks = 0;
  int chunk = 1;

  bool all() const { return latest == 0; }
};

// Returns where the latest seen tokens begin in a text of `length` tokens.
int LatestFrom(const SeenText& seen, int length);
// The chunks to choose from: those that lie wholly between the first and the
// latest tokens.
std::vector<int> ChunksBetween(const SeenText& seen, int length);
// Of these the seen.chunks with the largest masses, ascending; ties towards the
// lower one. Element c of `masses` is chunk c's.
std::vector<int> BestChunks(const SeenText& seen, int length,
                            absl::Span<const float> masses);
// Returns the positions that are seen in a text of `length` tokens, ascending.
// `chunks` ascend and were chosen from a text that was no longer.
std::vector<int> SeenSlots(const SeenText& seen, absl::Span<const int> chunks,
                           int length);

// PendingRows: the bookkeeping every session needs of rows that were scored and
// not yet committed.
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

#endif  // BANYAN_CORE_MODEL_SESSION_STATE_H_
