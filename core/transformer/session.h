// TransformerSession: one sequence's keys and values.
//
// Committed tokens have theirs in a cache by position, and pending rows follow
// in their order, so throwing them away is forgetting them, and of a kept path
// only what stands elsewhere than its position moves. A view shares the
// committed tokens of its parent and has a cache of its own for its pending
// rows.
#ifndef BANYAN_CORE_TRANSFORMER_SESSION_H_
#define BANYAN_CORE_TRANSFORMER_SESSION_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/token.h"
#include "core/model/model.h"
#include "core/model/pending_rows.h"
#include "core/ops/kv_cache.h"
#include "core/transformer/transformer.h"

namespace banyan {

class TransformerSession : public Session {
 public:
  // The model outlives the session.
  explicit TransformerSession(const Transformer& model);

  int length() const override { return committed_->length; }
  int pending() const override { return Fresh() ? rows_.size() : 0; }
  using Session::Prefill;
  absl::Status Prefill(absl::Span<const TokenId> tokens,
                       absl::Span<const int> taps, FeatureSink sink) override;
  absl::Status Commit(absl::Span<const int> path) override;
  absl::StatusOr<std::unique_ptr<Session>> View(
      absl::Span<const int> layers) override;

  // What a pass needs. Layers are those it runs, ascending; caches are in their
  // order.
  const Transformer& model() const { return model_; }
  const std::vector<int>& layers() const { return layers_; }
  const KvCache& prefix_cache(std::size_t i) const {
    return committed_->caches[static_cast<std::size_t>(layers_[i])];
  }
  KvCache& pending_cache(std::size_t i) {
    return view_ ? own_[i] : committed_->caches[i];
  }
  // Of every layer that it runs.
  std::vector<KvCache*> caches();
  // The device has committed rows: so many tokens are held now.
  void Settle(int length);
  // Where the first pending row stands in pending_cache.
  int pending_slot() const { return view_ ? 0 : length(); }

  absl::Status CheckBatch(const TokenBatch& batch) const;
  // Makes room for the batch's keys and values.
  absl::Status Reserve(int rows);
  // For every row of the batch, the pending rows it sees, as AttentionArgs
  // wants them: `words` words a row.
  std::vector<int> Visible(const TokenBatch& batch, int words) const;
  // The pass has stored the batch's keys and values.
  void Append(const TokenBatch& batch);

 private:
  struct Committed {
    std::vector<KvCache> caches;  // by layer
    int length = 0;
    std::uint64_t commits = 0;
  };

  TransformerSession(const TransformerSession& parent,
                     absl::Span<const int> layers);

  // Whether the pending rows still follow the committed prefix: those of a
  // view vanish when its parent commits.
  bool Fresh() const { return commits_ == committed_->commits; }
  void Forget();
  absl::Status CheckTokens(absl::Span<const TokenId> tokens) const;
  // Scores and commits one piece of a text.
  absl::Status PrefillPiece(absl::Span<const TokenId> tokens,
                            absl::Span<const int> taps, FeatureSink sink);
  // Makes room for so many committed tokens and pending rows together.
  absl::Status ReserveCommitted(int slots);

  const Transformer& model_;
  bool view_ = false;
  std::shared_ptr<Committed> committed_;
  std::uint64_t commits_ = 0;  // of the prefix the pending rows follow
  std::vector<int> layers_;
  std::vector<KvCache> own_;  // a view's pending rows, by place in layers_
  PendingRows rows_;
};

}  // namespace banyan

#endif  // BANYAN_CORE_TRANSFORMER_SESSION_H_
