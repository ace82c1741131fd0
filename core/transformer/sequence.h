// TransformerSequence holds one sequence's keys and values.
//
// A cache holds the keys and values of committed tokens by position, then those
// of pending rows in their order. So dropping rows moves nothing, and keeping a
// path moves only the rows that are not yet at their position. A view shares
// the committed tokens of its parent and has a cache of its own for its pending
// rows; a view that sees only a part of the text has copies of that part.
#ifndef BANYAN_CORE_TRANSFORMER_SEQUENCE_H_
#define BANYAN_CORE_TRANSFORMER_SEQUENCE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/common.h"
#include "core/base/token.h"
#include "core/model/model.h"
#include "core/model/session_state.h"
#include "core/ops/backend.h"
#include "core/ops/device_memory.h"
#include "core/ops/device_ops.h"
#include "core/ops/op_args.h"
#include "core/transformer/model_split.h"
#include "core/transformer/network.h"

namespace banyan {

// SeenCaches: copies of the committed keys and values that a view sees, layer
// by layer, if it sees a part of the text. Attention then reads only the copy.
class SeenCaches {
 public:
  // Makes `layers` caches with the shape of `like`, which is empty. Nothing is
  // seen until Follow().
  SeenCaches(const SeenText& seen, std::size_t layers, const KvCache& like);

  bool all() const { return seen_.all(); }
  // Slots that are seen of a text of this length.
  int size(int length) const;
  const KvCache& cache(std::size_t place) const { return parts_[place].cache; }

  // Whether this layer's chunks are to be chosen before it is attended to.
  bool chooses(std::size_t place, int length) const;
  // Chooses them by the masses that a row of queries, whose keys are the first
  // `committed` of the cache, gives them, over the key heads of all ranks.
  absl::Status Choose(std::size_t place, AttentionMassArgs row,
                      ModelSplit& split, Backend& backend);
  // Copies what is seen of the layer's `length` slots and not here yet. Where
  // chunks are to be chosen, after that.
  absl::Status Follow(std::size_t place, const KvCache& committed, int length,
                      DeviceOps& ops);

 private:
  struct Part {
    KvCache cache;
    std::vector<int> slots;   // of the committed cache, that it holds
    std::vector<int> chunks;  // once they are chosen
    bool chosen = false;
    int followed = 0;  // the length that it holds what is seen of
  };

  SeenText seen_;
  std::vector<Part> parts_;
};

// The blocks of a layer that a sequence runs, one of them at least.
struct RunLayer {
  int layer = 0;
  bool attention = true;
  bool feed_forward = true;

  bool whole() const { return attention && feed_forward; }
  friend bool operator==(const RunLayer& a, const RunLayer& b) = default;
};

// Not safe for concurrent use. Every failing call leaves the sequence as it
// was. core/model/model.h has the contract of what a Session does too.
class TransformerSequence {
 public:
  // The network outlives the sequence.
  explicit TransformerSequence(const Network& network);

  int length() const { return committed_->length; }
  int pending() const { return Fresh() ? rows_.size() : 0; }
  absl::Status Commit(absl::Span<const int> path);
  absl::StatusOr<TransformerSequence> View(const ViewOptions& options) const;

  // Fails if `tokens` cannot be committed without giving their logits; makes
  // room for them.
  absl::Status BeginPrefill(absl::Span<const TokenId> tokens);
  // Forgets the pending rows and what was committed beyond `length` tokens.
  void CutTo(int length);

  // A pass needs what follows. `layers` are those it runs, ascending; caches
  // are in their order.
  const Network& network() const { return *network_; }
  const std::vector<RunLayer>& layers() const { return layers_; }
  const KvCache& prefix_cache(std::size_t i) const {
    return seen_.all() ? CommittedCache(i) : seen_.cache(i);
  }
  // Returns how many of its slots are seen.
  int prefix_slots() const { return seen_.size(length()); }
  // Brings what is seen of a layer up to what is committed; `row` is the first
  // row of the batch to be scored, whose queries choose chunks.
  absl::Status SeePrefix(std::size_t i, const Tensor& row);
  KvCache& pending_cache(std::size_t i) {
    return view_ ? own_[i] : committed_->caches[i];
  }
  // Returns the cache of every layer that it runs.
  std::vector<KvCache*> caches();
  // Notes that the device has committed rows: `length` tokens are held now.
  void Settle(int length);
  // Returns the first pending row's slot in pending_cache.
  int pending_slot() const { return view_ ? 0 : length(); }

  absl::Status CheckBatch(const TokenBatch& batch) const;
  // Fails if a pass of this sequence cannot go on from the view's `rows`
  // (DoneRows::rows). A null view stands for one of another kind of model.
  absl::Status CheckDone(const TransformerSequence* view,
                         const std::vector<int>& rows,
                         const TokenBatch& batch) const;
  // Returns where the next pass keeps the streams of its pending rows after the
  // last layer; empty if the sequence does not keep rows.
  Tensor KeptRows(int rows) const;
  // Returns the kept streams of all pending rows.
  const Tensor& kept_rows() const { return kept_.view; }
  // Makes room for the batch's keys and values.
  absl::Status Reserve(int rows);
  // Returns for every row of the batch the pending rows it sees, as
  // AttentionArgs wants them: `words` words a row.
  std::vector<int> Visible(const TokenBatch& batch, int words) const;
  // Notes that the pass has stored the batch's keys and values.
  void Append(const TokenBatch& batch);

 private:
  struct Committed {
    std::vector<KvCache> caches;  // by layer
    int length = 0;
    std::uint64_t commits = 0;
  };

  TransformerSequence(const TransformerSequence& parent, const Network& network,
                      const ViewOptions& options);

  // Whether the pending rows still follow the committed prefix: those of a
  // view vanish when its parent commits.
  bool Fresh() const { return commits_ == committed_->commits; }
  void Forget();
  bool SpellsAs(const TokenBatch& batch, int i, const TransformerSequence& view,
                int row) const;
  absl::Status CheckTokens(absl::Span<const TokenId> tokens) const;
  // Makes room for `slots` committed tokens and pending rows together.
  absl::Status ReserveCommitted(int slots);
  // The same for the pending rows of a view.
  absl::Status ReserveOwn(int rows);
  const KvCache& CommittedCache(std::size_t i) const {
    return committed_->caches[static_cast<std::size_t>(layers_[i].layer)];
  }

  const Network* network_;
  std::shared_ptr<const Model> weights_;  // of a view: network_'s, if lent
  bool view_ = false;
  bool keeps_rows_ = false;
  std::shared_ptr<Committed> committed_;
  std::uint64_t commits_ = 0;  // of the prefix the pending rows follow
  std::vector<RunLayer> layers_;
  std::vector<KvCache> own_;  // a view's pending rows, by place in layers_
  OwnedTensor kept_;          // its rows' streams, if it keeps them
  SeenCaches seen_;
  PendingRows rows_;
};

}  // namespace banyan

#endif  // BANYAN_CORE_TRANSFORMER_SEQUENCE_H_
