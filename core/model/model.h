// Model and Session: what a round needs of a language model.
//
// A Model is immutable weights; a Session is one sequence's cache. A session
// holds a committed prefix and, between a scoring call and the next commit,
// *pending* rows: tokens that were scored but may still be thrown away.
#ifndef BANYAN_CORE_MODEL_MODEL_H_
#define BANYAN_CORE_MODEL_MODEL_H_

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/base/token.h"

namespace banyan {

// One sequence. Not safe for concurrent use. Every failing call leaves the
// session as it was.
class Session {
 public:
  virtual ~Session() = default;

  // Committed tokens, and pending rows.
  virtual int length() const = 0;
  virtual int pending() const = 0;

  // Commits `tokens` after the committed prefix without giving their logits.
  // Requires that nothing is pending.
  virtual absl::Status Prefill(absl::Span<const TokenId> tokens) = 0;
  // Commits the pending rows `path`, a chain that starts at a row which follows
  // the committed prefix, and drops every other pending row. An empty path
  // drops them all.
  virtual absl::Status Commit(absl::Span<const int> path) = 0;

  // A reader of the same committed cache that runs only `layers`, ascending, of
  // the model's layers (drafting by early exit or by skipping). It scores with
  // pending rows of its own, which vanish when this session commits a path, and
  // never changes this session; it cannot prefill or commit a path.
  // Unimplemented where a model has no layers; FailedPrecondition without an
  // inert layer of a grown model: what such a reader drafts would be accepted
  // always, which says nothing about a model trained at that size.
  virtual absl::StatusOr<std::unique_ptr<Session>> View(
      absl::Span<const int> layers);
};

// The logits of one batch, a row per token in the order of the batch. Valid for
// as long as the session's pending rows are.
class Scores {
 public:
  virtual ~Scores() = default;
  // Replaces `logits` by row `row`: one number per token of the vocabulary.
  virtual void Read(int row, std::vector<double>& logits) const = 0;
  // The hidden state of row `row` at number `tap` of the request's taps.
  // Requires that the request had it.
  virtual absl::Span<const float> Hidden(int tap, int row) const;
};

// Where a hidden state is taken: after so many of the model's layers, 0 being
// the embedding, or after the final norm, which is what the output head reads.
// A view has none after a layer that it does not run.
inline constexpr int kAfterFinalNorm = -1;

struct ScoreRequest {
  Session* session;            // made by the model that is asked
  const TokenBatch* batch;     // becomes the session's next pending rows
  std::vector<int> taps = {};  // hidden states wanted (Scores::Hidden)
  bool logits = true;          // without, Scores::Read is not allowed
};

// Safe for concurrent use.
class Model {
 public:
  virtual ~Model() = default;

  virtual int vocab_size() const = 0;
  // The most tokens a session may hold, pending rows' positions included.
  virtual int context_limit() const = 0;
  // Transformer layers and the size of a hidden state; 0 if it has none.
  virtual int layers() const { return 0; }
  virtual int hidden_size() const { return 0; }
  // The name of the model that this one is grown from: it computes the same,
  // at the cost of its own size. Empty for any other model.
  virtual absl::string_view grown_from() const { return {}; }
  virtual std::unique_ptr<Session> NewSession() const = 0;

  // Scores one batch for each of several distinct sessions in one pass; their
  // rows share one reading of the weights. A
  // token's logits depend on the committed prefix and its ancestors alone, to
  // the last bit: not on the batch, the tree, the company or the thread count.
  // Fails as a whole, every session as it was, if a token, parent, position or
  // tap is out of range, or a session is not this model's or comes twice.
  virtual absl::StatusOr<std::vector<std::unique_ptr<Scores>>> Score(
      absl::Span<const ScoreRequest> requests) const = 0;
};

// Score() for one session.
absl::StatusOr<std::unique_ptr<Scores>> ScoreOne(const Model& model,
                                                 Session& session,
                                                 const TokenBatch& batch);

}  // namespace banyan

#endif  // BANYAN_CORE_MODEL_MODEL_H_
