#include "core/transformer/session.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "core/base/status_macros.h"
#include "core/base/token.h"
#include "core/checkpoint/architecture.h"
#include "core/checkpoint/stored_tensor.h"
#include "core/model/model.h"
#include "core/model/pending_rows.h"
#include "core/ops/backend.h"
#include "core/ops/kv_cache.h"
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

KvCache EmptyCache(const Architecture& architecture) {
  KvCache cache;
  cache.kv_heads = architecture.kv_heads;
  cache.head_dim = architecture.head_dim;
  return cache;
}

// A layer that changes nothing is skipped without loss, as no trained one is.
absl::Status CheckInertLayers(const Architecture& architecture,
                              absl::Span<const int> layers) {
  for (int inert : architecture.inert_layers)
    if (!std::binary_search(layers.begin(), layers.end(), inert))
      return absl::FailedPreconditionError(absl::StrCat(
          "view: the model is grown from ", QuotedName(architecture.grown_from),
          " and its layer ", inert, " is inert: a draft that skips it would ",
          "be accepted as no draft of a model trained at this size is"));
  return absl::OkStatus();
}

}  // namespace

TransformerSession::TransformerSession(const Transformer& model)
    : model_(model), committed_(std::make_shared<Committed>()) {
  layers_.resize(static_cast<std::size_t>(model.layers()));
  std::iota(layers_.begin(), layers_.end(), 0);
  for (std::size_t i = 0; i < layers_.size(); ++i)
    committed_->caches.push_back(EmptyCache(model.architecture()));
}

TransformerSession::TransformerSession(const TransformerSession& parent,
                                       absl::Span<const int> layers)
    : model_(parent.model_),
      view_(true),
      committed_(parent.committed_),
      commits_(committed_->commits),
      layers_(layers.begin(), layers.end()) {
  for (std::size_t i = 0; i < layers_.size(); ++i)
    own_.push_back(EmptyCache(model_.architecture()));
}

absl::StatusOr<std::unique_ptr<Session>> TransformerSession::View(
    absl::Span<const int> layers) {
  int previous = -1;
  for (int layer : layers) {
    if (layer <= previous || layer >= model_.layers())
      return absl::InvalidArgumentError(absl::StrCat(
          "view: expected ascending layers below ", model_.layers(),
          ", found layer ", layer, " after layer ", previous));
    previous = layer;
  }
  BANYAN_RETURN_IF_ERROR(CheckInertLayers(model_.architecture(), layers));
  return absl::WrapUnique<Session>(new TransformerSession(*this, layers));
}

absl::Status TransformerSession::CheckBatch(const TokenBatch& batch) const {
  static const PendingRows kNone;
  const PendingRows& rows = Fresh() ? rows_ : kNone;
  return rows.CheckBatch(batch, length(), model_.context_limit(),
                         [this](TokenId token, int /*position*/) {
                           return CheckTokens({&token, 1});
                         });
}

absl::Status TransformerSession::CheckTokens(
    absl::Span<const TokenId> tokens) const {
  for (TokenId token : tokens)
    if (token < 0 || token >= model_.vocab_size())
      return absl::InvalidArgumentError(
          absl::StrCat("token ", token, " is outside the vocabulary of ",
                       model_.vocab_size()));
  return absl::OkStatus();
}

absl::Status TransformerSession::Reserve(int rows) {
  if (!Fresh()) Forget();
  if (!view_) return ReserveCommitted(length() + rows_.size() + rows);
  for (KvCache& cache : own_)
    BANYAN_RETURN_IF_ERROR(
        model_.backend().ReserveKv(cache, rows_.size() + rows, rows_.size()));
  return absl::OkStatus();
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
    const int most = std::max(slots, model_.context_limit()) + kLeastReserve;
    const int grown = std::min(most, slots + std::max(kLeastReserve, slots));
    BANYAN_RETURN_IF_ERROR(
        model_.backend().ReserveKv(cache, grown, length() + rows_.size()));
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
  std::vector<int> slots;
  for (int row : path) slots.push_back(length() + row);
  for (KvCache& cache : committed_->caches)
    BANYAN_RETURN_IF_ERROR(model_.backend().MoveKv({&cache, slots, length()}));
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
  BANYAN_ASSIGN_OR_RETURN(const auto scores, model_.Score({&request, 1}));
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
  const int limit = model_.context_limit();
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
