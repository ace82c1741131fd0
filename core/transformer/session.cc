#include "core/transformer/session.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/base/quoted_name.h"
#include "core/base/status_macros.h"
#include "core/base/token.h"
#include "core/base/weight_format.h"
#include "core/checkpoint/architecture.h"
#include "core/model/model.h"
#include "core/model/pending_rows.h"
#include "core/ops/backend.h"
#include "core/ops/kv_cache.h"
#include "core/ops/owned_tensor.h"
#include "core/ops/tensor.h"
#include "core/transformer/transformer.h"

namespace banyan {
namespace {

// A prompt is read in pieces: enough rows to share a reading of the weights,
// few enough that a pass's own numbers stay small.
constexpr int kPrefillRows = 256;

// Caches grow to twice what is needed, and by this many slots more at least:
// moving one costs as much as several passes, and slots that are not used take
// no memory until they are.
constexpr int kLeastReserve = 512;

KvCache EmptyCache(const Transformer& model) {
  KvCache cache;
  cache.kv_heads = model.split().kv_heads();
  cache.head_dim = model.architecture().head_dim;
  cache.may_split = model.options().format == WeightFormat::kBf16;
  return cache;
}

absl::Status CheckAscending(absl::Span<const int> layers, int end,
                            absl::string_view blocks) {
  int previous = -1;
  for (int layer : layers) {
    if (layer <= previous || layer >= end)
      return absl::InvalidArgumentError(absl::StrCat(
          "view: expected ascending layers below ", end, " for ", blocks,
          ", found layer ", layer, " after layer ", previous));
    previous = layer;
  }
  return absl::OkStatus();
}

// A layer that changes nothing is skipped without loss, as no trained one is.
absl::Status CheckInertLayers(const Architecture& architecture,
                              absl::Span<const RunLayer> layers) {
  for (int inert : architecture.inert_layers)
    if (std::find(layers.begin(), layers.end(), RunLayer{inert}) ==
        layers.end())
      return absl::FailedPreconditionError(absl::StrCat(
          "view: the model is grown from ", QuotedName(architecture.grown_from),
          " and its layer ", inert, " is inert: a draft that skips it would ",
          "be accepted as no draft of a model trained at this size is"));
  return absl::OkStatus();
}

// Returns what a pass and its caches depend on, except the weights' numbers.
auto ShapeOf(const Architecture& shape) {
  return std::tuple(shape.vocab_size, shape.hidden_size,
                    shape.feed_forward_size, shape.heads, shape.kv_heads,
                    shape.head_dim, shape.context_limit, shape.layers.size(),
                    shape.rope ? shape.rope->theta : 0);
}

// The model whose weights a view of a session of `own` runs with.
absl::StatusOr<const Transformer*> WeightsFor(const ViewOptions& options,
                                              const Transformer& own) {
  if (options.weights == nullptr) return &own;
  const auto* other = dynamic_cast<const Transformer*>(options.weights.get());
  if (other == nullptr ||
      ShapeOf(other->architecture()) != ShapeOf(own.architecture()))
    return absl::InvalidArgumentError(
        "view: the weights are those of a model of another shape");
  if (&other->backend() != &own.backend())
    return absl::InvalidArgumentError(
        "view: the weights are on another device, whose caches are not ours");
  if (other->split().whole() != own.split().whole())
    return absl::InvalidArgumentError(
        "view: the weights are not shared out to ranks as the session's are");
  return other;
}

std::vector<RunLayer> RunLayers(const ViewOptions& options) {
  const auto has = [](const std::vector<int>& layers, int layer) {
    return std::binary_search(layers.begin(), layers.end(), layer);
  };
  std::vector<int> all = options.attention;
  all.insert(all.end(), options.feed_forward.begin(),
             options.feed_forward.end());
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  std::vector<RunLayer> layers;
  for (int layer : all)
    layers.push_back({layer, has(options.attention, layer),
                      has(options.feed_forward, layer)});
  return layers;
}

}  // namespace

TransformerSession::TransformerSession(const Transformer& model)
    : model_(&model),
      committed_(std::make_shared<Committed>()),
      seen_({}, 0, EmptyCache(model)) {
  for (int layer = 0; layer < model.layers(); ++layer) {
    layers_.push_back({layer});
    committed_->caches.push_back(EmptyCache(model));
  }
}

TransformerSession::TransformerSession(const TransformerSession& parent,
                                       const Transformer& model,
                                       const ViewOptions& options)
    : model_(&model),
      weights_(options.weights ? options.weights : parent.weights_),
      view_(true),
      keeps_rows_(options.keeps_rows),
      committed_(parent.committed_),
      commits_(committed_->commits),
      layers_(RunLayers(options)),
      seen_(options.seen, layers_.size(), EmptyCache(model)) {
  for (std::size_t i = 0; i < layers_.size(); ++i)
    own_.push_back(EmptyCache(model));
}

absl::StatusOr<std::unique_ptr<Session>> TransformerSession::View(
    const ViewOptions& options) {
  BANYAN_ASSIGN_OR_RETURN(const Transformer* weights,
                          WeightsFor(options, *model_));
  const int end = model_->layers();
  BANYAN_RETURN_IF_ERROR(CheckAscending(options.attention, end, "attention"));
  BANYAN_RETURN_IF_ERROR(
      CheckAscending(options.feed_forward, end, "feed-forward"));
  BANYAN_RETURN_IF_ERROR(
      CheckInertLayers(model_->architecture(), RunLayers(options)));
  const SeenText& seen = options.seen;
  if (seen.first < 0 || seen.latest < 0 || seen.chunks < 0 || seen.chunk < 1)
    return absl::InvalidArgumentError(
        "view: a part of the text has a negative length");
  return absl::WrapUnique<Session>(
      new TransformerSession(*this, *weights, options));
}

absl::Status TransformerSession::CheckBatch(const TokenBatch& batch) const {
  static const PendingRows kNone;
  const PendingRows& rows = Fresh() ? rows_ : kNone;
  return rows.CheckBatch(batch, length(), model_->context_limit(),
                         [this](TokenId token, int /*position*/) {
                           return CheckTokens({&token, 1});
                         });
}

absl::Status TransformerSession::CheckTokens(
    absl::Span<const TokenId> tokens) const {
  for (TokenId token : tokens)
    if (token < 0 || token >= model_->vocab_size())
      return absl::InvalidArgumentError(
          absl::StrCat("token ", token, " is outside the vocabulary of ",
                       model_->vocab_size()));
  return absl::OkStatus();
}

// Whether a row of the batch and one of the view's are the same tokens, from
// the committed text on, at the same positions.
bool TransformerSession::SpellsAs(const TokenBatch& batch, int i,
                                  const TransformerSession& view,
                                  int row) const {
  const int first = pending();
  int own = first + i;
  for (; own != TokenBatch::kCommitted && row != TokenBatch::kCommitted;
       row = view.rows_[row].parent) {
    const bool fresh = own >= first;
    const auto at = static_cast<std::size_t>(own - first);
    const PendingRows::Row mine =
        fresh ? PendingRows::Row{batch.tokens[at], batch.parents[at],
                                 batch.positions[at]}
              : rows_[own];
    const PendingRows::Row& theirs = view.rows_[row];
    if (mine.token != theirs.token || mine.position != theirs.position)
      return false;
    own = mine.parent;
  }
  return own == row;
}

absl::Status TransformerSession::CheckDone(const DoneRows& done,
                                           const TokenBatch& batch) const {
  const auto wrong = [](absl::string_view what) {
    return absl::InvalidArgumentError(
        absl::StrCat("score: rows to go on from ", what));
  };
  const auto* view = dynamic_cast<const TransformerSession*>(done.view);
  if (view == nullptr || !view->keeps_rows_ || view->committed_ != committed_ ||
      view->model_ != model_)
    return wrong("that no view of this session and its weights kept");
  const std::size_t depth = view->layers_.size();
  if (depth > layers_.size() ||
      !std::equal(view->layers_.begin(), view->layers_.end(), layers_.begin(),
                  [](const RunLayer& a, const RunLayer& b) {
                    return a == b && a.whole();
                  }))
    return wrong("of a view whose layers are not this session's first");
  if (done.rows.size() != batch.tokens.size())
    return wrong("that are not one a token");
  for (int i = 0; i < batch.size(); ++i) {
    const int row = done.rows[static_cast<std::size_t>(i)];
    if (row < 0) continue;
    if (row >= view->pending()) return wrong("that the view does not hold");
    if (!SpellsAs(batch, i, *view, row)) return wrong("of other tokens");
  }
  return absl::OkStatus();
}

absl::Status TransformerSession::Reserve(int rows) {
  if (!Fresh()) Forget();
  return view_ ? ReserveOwn(rows_.size() + rows)
               : ReserveCommitted(length() + rows_.size() + rows);
}

absl::Status TransformerSession::ReserveOwn(int rows) {
  Backend& backend = model_->backend();
  for (KvCache& cache : own_)
    BANYAN_RETURN_IF_ERROR(backend.ReserveKv(cache, rows, rows_.size()));
  if (!keeps_rows_ || rows <= kept_.view.rows) return absl::OkStatus();
  BANYAN_ASSIGN_OR_RETURN(
      OwnedTensor grown,
      OwnedTensor::New(2 * rows, model_->hidden_size(), backend));
  if (rows_.size() > 0)
    BANYAN_RETURN_IF_ERROR(backend.Copy(
        {kept_.view.Rows(0, rows_.size()), grown.view.Rows(0, rows_.size())}));
  kept_ = std::move(grown);
  return absl::OkStatus();
}

absl::Status TransformerSession::SeePrefix(std::size_t i, const Tensor& row) {
  if (seen_.all() || length() == 0) return absl::OkStatus();
  Backend& backend = model_->backend();
  if (seen_.chooses(i, length()))
    BANYAN_RETURN_IF_ERROR(seen_.Choose(i,
                                        {.queries = row,
                                         .heads = model_->split().heads(),
                                         .prefix = &CommittedCache(i),
                                         .committed = length()},
                                        model_->split(), backend));
  return seen_.Follow(i, CommittedCache(i), length(), backend);
}

Tensor TransformerSession::KeptRows(int rows) const {
  return keeps_rows_ ? kept_.view.Rows(pending(), rows) : Tensor{};
}

std::vector<int> TransformerSession::Visible(const TokenBatch& batch,
                                             int words) const {
  std::vector<int> bits(static_cast<std::size_t>(batch.size()) *
                        static_cast<std::size_t>(words));
  const auto word_of = [&](int i, int row) -> int& {
    return bits[static_cast<std::size_t>(i) * static_cast<std::size_t>(words) +
                static_cast<std::size_t>(row / 32)];
  };
  const auto see = [&](int i, int row) {
    int& word = word_of(i, row);
    word =
        static_cast<int>(static_cast<std::uint32_t>(word) | 1U << (row % 32));
  };
  const int first = rows_.size();
  for (int i = 0; i < batch.size(); ++i) {
    see(i, first + i);
    int parent = batch.parents[static_cast<std::size_t>(i)];
    if (parent >= first) {  // sees what its parent sees
      for (int word = 0; word < words; ++word)
        word_of(i, word * 32) = static_cast<int>(
            static_cast<std::uint32_t>(word_of(i, word * 32)) |
            static_cast<std::uint32_t>(word_of(parent - first, word * 32)));
      continue;
    }
    for (; parent != TokenBatch::kCommitted; parent = rows_[parent].parent)
      see(i, parent);
  }
  return bits;
}

void TransformerSession::Append(const TokenBatch& batch) {
  rows_.Append(batch);
}

std::vector<KvCache*> TransformerSession::caches() {
  std::vector<KvCache*> caches;
  for (std::size_t i = 0; i < layers_.size(); ++i)
    caches.push_back(&pending_cache(i));
  return caches;
}

void TransformerSession::Settle(int length) {
  committed_->length = length;
  ++committed_->commits;
  Forget();
}

void TransformerSession::Forget() {
  rows_.Clear();
  commits_ = committed_->commits;
}

absl::Status TransformerSession::ReserveCommitted(int slots) {
  for (KvCache& cache : committed_->caches) {
    if (slots <= cache.capacity) continue;
    // Pending rows may be more than the positions that are left.
    const int most = std::max(slots, model_->context_limit()) + kLeastReserve;
    const int grown = std::min(most, slots + std::max(kLeastReserve, slots));
    BANYAN_RETURN_IF_ERROR(
        model_->backend().ReserveKv(cache, grown, length() + rows_.size()));
  }
  return absl::OkStatus();
}

absl::Status TransformerSession::Commit(absl::Span<const int> path) {
  if (!Fresh()) Forget();
  BANYAN_RETURN_IF_ERROR(rows_.CheckPath(path));
  if (path.empty()) {
    Forget();
    return absl::OkStatus();
  }
  if (view_)
    return absl::FailedPreconditionError(
        "commit: a view does not change the session it reads");
  model_->split().Note(path);
  std::vector<int> slots;
  for (int row : path) slots.push_back(length() + row);
  for (KvCache& cache : committed_->caches) {
    const absl::Status moved =
        model_->backend().MoveKv({&cache, slots, length()});
    if (!moved.ok()) {  // layers before it hold other pending rows now
      Forget();
      return moved;
    }
  }
  committed_->length += static_cast<int>(path.size());
  ++committed_->commits;
  Forget();
  return absl::OkStatus();
}

absl::Status TransformerSession::PrefillPiece(absl::Span<const TokenId> tokens,
                                              absl::Span<const int> taps,
                                              FeatureSink sink) {
  const TokenBatch batch = TokenBatch::Chain(tokens, length());
  std::vector<int> path(tokens.size());
  std::iota(path.begin(), path.end(), 0);
  const ScoreRequest request = {
      this, &batch, {taps.begin(), taps.end()}, batch.size()};
  BANYAN_ASSIGN_OR_RETURN(const auto scores, model_->Score({&request, 1}));
  if (!taps.empty())
    BANYAN_RETURN_IF_ERROR(sink(*scores.front(), batch.size()));
  return Commit(path);
}

absl::Status TransformerSession::Prefill(absl::Span<const TokenId> tokens,
                                         absl::Span<const int> taps,
                                         FeatureSink sink) {
  if (pending() > 0)
    return absl::FailedPreconditionError("prefill while rows are pending");
  if (view_)
    return absl::FailedPreconditionError(
        "prefill: a view does not change the session it reads");
  const int before = length();
  const int limit = model_->context_limit();
  if (tokens.size() > static_cast<std::size_t>(limit - before))
    return OverContextLimit(before + static_cast<int>(tokens.size()), limit);
  BANYAN_RETURN_IF_ERROR(CheckTokens(tokens));
  BANYAN_RETURN_IF_ERROR(
      ReserveCommitted(before + static_cast<int>(tokens.size())));
  while (!tokens.empty()) {
    const absl::Span<const TokenId> piece = tokens.subspan(0, kPrefillRows);
    const absl::Status status = PrefillPiece(piece, taps, sink);
    if (!status.ok()) {  // what an earlier piece committed is forgotten too
      committed_->length = before;
      Forget();
      return status;
    }
    tokens.remove_prefix(piece.size());
  }
  return absl::OkStatus();
}

}  // namespace banyan
