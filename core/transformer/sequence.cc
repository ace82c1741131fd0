#include "core/transformer/sequence.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "core/base/messages.h"
#include "core/base/weight_format.h"
#include "core/checkpoint/architecture.h"

namespace banyan {

SeenCaches::SeenCaches(const SeenText& seen, std::size_t layers,
                       const KvCache& like)
    : seen_(seen), parts_(seen.all() ? 0 : layers) {
  for (Part& part : parts_) {
    part.cache.kv_heads = like.kv_heads;
    part.cache.head_dim = like.head_dim;
  }
}

int SeenCaches::size(int length) const {
  if (all()) return length;
  if (parts_.empty()) return 0;
  // As many chunks in each layer.
  const Part& part = parts_.front();
  const std::size_t wanted = static_cast<std::size_t>(seen_.chunks);
  std::vector<int> chunks = part.chunks;
  if (!part.chosen) {
    chunks = ChunksBetween(seen_, length);
    chunks.resize(std::min(chunks.size(), wanted));
  }
  return static_cast<int>(SeenSlots(seen_, chunks, length).size());
}

bool SeenCaches::chooses(std::size_t place, int length) const {
  return !all() && !parts_[place].chosen && seen_.chunks > 0 &&
         !ChunksBetween(seen_, length).empty();
}

absl::Status SeenCaches::Choose(std::size_t place, AttentionMassArgs row,
                                ModelSplit& split, Backend& backend) {
  row.chunk = seen_.chunk;
  const int chunks = ChunksOf(row.committed, row.chunk);
  std::vector<float> masses;
  if (row.prefix->kv_heads > 0) {
    BANYAN_ASSIGN_OR_RETURN(
        const OwnedTensor y,
        OwnedTensor::New(row.prefix->kv_heads, chunks, backend));
    row.y = y.view;
    BANYAN_RETURN_IF_ERROR(backend.AttentionMass(row));
    BANYAN_RETURN_IF_ERROR(y.Download(masses, backend));
  }
  const auto count = static_cast<std::size_t>(chunks);
  BANYAN_RETURN_IF_ERROR(split.GatherMasses(masses, count));
  for (std::size_t i = count; i < masses.size(); ++i)
    masses[i % count] += masses[i];
  masses.resize(count);
  parts_[place].chunks = BestChunks(seen_, row.committed, masses);
  parts_[place].chosen = true;
  parts_[place].followed = 0;
  return absl::OkStatus();
}

absl::Status SeenCaches::Follow(std::size_t place, const KvCache& committed,
                                int length, DeviceOps& ops) {
  Part& part = parts_[place];
  if (part.followed == length) return absl::OkStatus();
  std::vector<int> slots = SeenSlots(seen_, part.chunks, length);
  const auto differ = std::mismatch(slots.begin(), slots.end(),
                                    part.slots.begin(), part.slots.end());
  const auto kept = static_cast<int>(differ.first - slots.begin());
  const std::vector<int> missing(differ.first, slots.end());
  if (!missing.empty()) {
    // Room for the text to grow in.
    const int room = static_cast<int>(slots.size()) + seen_.latest / 4 + 64;
    if (static_cast<int>(slots.size()) > part.cache.capacity)
      BANYAN_RETURN_IF_ERROR(ops.ReserveKv(part.cache, room, kept));
    BANYAN_RETURN_IF_ERROR(ops.MoveKv({.cache = &part.cache,
                                       .slots = missing,
                                       .first_slot = kept,
                                       .from = &committed}));
  }
  part.slots = std::move(slots);
  part.followed = length;
  return absl::OkStatus();
}

namespace {

// Caches grow to twice what is needed, and by this many slots more at least:
// moving one costs as much as several passes, and slots that are not used take
// no memory until they are.
constexpr int kLeastReserve = 512;

KvCache EmptyCache(const Network& network) {
  KvCache cache;
  cache.kv_heads = network.split().kv_heads();
  cache.head_dim = network.architecture().head_dim;
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

// Returns the network whose weights a view of a sequence of `own` runs with.
absl::StatusOr<const Network*> WeightsFor(const ViewOptions& options,
                                          const Network& own) {
  if (options.weights == nullptr) return &own;
  const Network* const other = options.weights->facets().network;
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

TransformerSequence::TransformerSequence(const Network& network)
    : network_(&network),
      committed_(std::make_shared<Committed>()),
      seen_({}, 0, EmptyCache(network)) {
  for (int layer = 0; layer < network.layers(); ++layer) {
    layers_.push_back({layer});
    committed_->caches.push_back(EmptyCache(network));
  }
}

TransformerSequence::TransformerSequence(const TransformerSequence& parent,
                                         const Network& network,
                                         const ViewOptions& options)
    : network_(&network),
      weights_(options.weights ? options.weights : parent.weights_),
      view_(true),
      keeps_rows_(options.keeps_rows),
      committed_(parent.committed_),
      commits_(committed_->commits),
      layers_(RunLayers(options)),
      seen_(options.seen, layers_.size(), EmptyCache(network)) {
  for (std::size_t i = 0; i < layers_.size(); ++i)
    own_.push_back(EmptyCache(network));
}

absl::StatusOr<TransformerSequence> TransformerSequence::View(
    const ViewOptions& options) const {
  BANYAN_ASSIGN_OR_RETURN(const Network* weights,
                          WeightsFor(options, *network_));
  const int end = network_->layers();
  BANYAN_RETURN_IF_ERROR(CheckAscending(options.attention, end, "attention"));
  BANYAN_RETURN_IF_ERROR(
      CheckAscending(options.feed_forward, end, "feed-forward"));
  BANYAN_RETURN_IF_ERROR(
      CheckInertLayers(network_->architecture(), RunLayers(options)));
  const SeenText& seen = options.seen;
  if (seen.first < 0 || seen.latest < 0 || seen.chunks < 0 || seen.chunk < 1)
    return absl::InvalidArgumentError(
        "view: a part of the text has a negative length");
  return TransformerSequence(*this, *weights, options);
}

absl::Status TransformerSequence::CheckBatch(const TokenBatch& batch) const {
  static const PendingRows kNone;
  const PendingRows& rows = Fresh() ? rows_ : kNone;
  return rows.CheckBatch(batch, length(), network_->context_limit(),
                         [this](TokenId token, int /*position*/) {
                           return CheckTokens({&token, 1});
                         });
}

absl::Status TransformerSequence::CheckTokens(
    absl::Span<const TokenId> tokens) const {
  for (TokenId token : tokens)
    if (token < 0 || token >= network_->vocab_size())
      return absl::InvalidArgumentError(
          absl::StrCat("token ", token, " is outside the vocabulary of ",
                       network_->vocab_size()));
  return absl::OkStatus();
}

// Returns whether a row of the batch and one of the view's are the same tokens,
// from the committed text on, at the same positions.
bool TransformerSequence::SpellsAs(const TokenBatch& batch, int i,
                                   const TransformerSequence& view,
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

absl::Status TransformerSequence::CheckDone(const TransformerSequence* view,
                                            const std::vector<int>& rows,
                                            const TokenBatch& batch) const {
  const auto wrong = [](absl::string_view what) {
    return absl::InvalidArgumentError(
        absl::StrCat("score: rows to go on from ", what));
  };
  if (view == nullptr || !view->keeps_rows_ || view->committed_ != committed_ ||
      view->network_ != network_)
    return wrong("that no view of this session and its weights kept");
  const std::size_t depth = view->layers_.size();
  if (depth > layers_.size() ||
      !std::equal(view->layers_.begin(), view->layers_.end(), layers_.begin(),
                  [](const RunLayer& a, const RunLayer& b) {
                    return a == b && a.whole();
                  }))
    return wrong("of a view whose layers are not this session's first");
  if (rows.size() != batch.tokens.size())
    return wrong("that are not one a token");
  for (int i = 0; i < batch.size(); ++i) {
    const int row = rows[static_cast<std::size_t>(i)];
    if (row < 0) continue;
    if (row >= view->pending()) return wrong("that the view does not hold");
    if (!SpellsAs(batch, i, *view, row)) return wrong("of other tokens");
  }
  return absl::OkStatus();
}

absl::Status TransformerSequence::Reserve(int rows) {
  if (!Fresh()) Forget();
  return view_ ? ReserveOwn(rows_.size() + rows)
               : ReserveCommitted(length() + rows_.size() + rows);
}

absl::Status TransformerSequence::ReserveOwn(int rows) {
  Backend& backend = network_->backend();
  for (KvCache& cache : own_)
    BANYAN_RETURN_IF_ERROR(backend.ReserveKv(cache, rows, rows_.size()));
  if (!keeps_rows_ || rows <= kept_.view.rows) return absl::OkStatus();
  BANYAN_ASSIGN_OR_RETURN(
      OwnedTensor grown,
      OwnedTensor::New(2 * rows, network_->hidden_size(), backend));
  if (rows_.size() > 0)
    BANYAN_RETURN_IF_ERROR(backend.Copy(
        {kept_.view.Rows(0, rows_.size()), grown.view.Rows(0, rows_.size())}));
  kept_ = std::move(grown);
  return absl::OkStatus();
}

absl::Status TransformerSequence::SeePrefix(std::size_t i, const Tensor& row) {
  if (seen_.all() || length() == 0) return absl::OkStatus();
  Backend& backend = network_->backend();
  if (seen_.chooses(i, length()))
    BANYAN_RETURN_IF_ERROR(seen_.Choose(i,
                                        {.queries = row,
                                         .heads = network_->split().heads(),
                                         .prefix = &CommittedCache(i),
                                         .committed = length()},
                                        network_->split(), backend));
  return seen_.Follow(i, CommittedCache(i), length(), backend);
}

Tensor TransformerSequence::KeptRows(int rows) const {
  return keeps_rows_ ? kept_.view.Rows(pending(), rows) : Tensor{};
}

std::vector<int> TransformerSequence::Visible(const TokenBatch& batch,
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

void TransformerSequence::Append(const TokenBatch& batch) {
  rows_.Append(batch);
}

std::vector<KvCache*> TransformerSequence::caches() {
  std::vector<KvCache*> caches;
  for (std::size_t i = 0; i < layers_.size(); ++i)
    caches.push_back(&pending_cache(i));
  return caches;
}

void TransformerSequence::Settle(int length) {
  committed_->length = length;
  ++committed_->commits;
  Forget();
}

void TransformerSequence::Forget() {
  rows_.Clear();
  commits_ = committed_->commits;
}

absl::Status TransformerSequence::ReserveCommitted(int slots) {
  for (KvCache& cache : committed_->caches) {
    if (slots <= cache.capacity) continue;
    // Pending rows may be more than the positions that are left.
    const int most = std::max(slots, network_->context_limit()) + kLeastReserve;
    const int grown = std::min(most, slots + std::max(kLeastReserve, slots));
    BANYAN_RETURN_IF_ERROR(
        network_->backend().ReserveKv(cache, grown, length() + rows_.size()));
  }
  return absl::OkStatus();
}

absl::Status TransformerSequence::Commit(absl::Span<const int> path) {
  if (!Fresh()) Forget();
  BANYAN_RETURN_IF_ERROR(rows_.CheckPath(path));
  if (path.empty()) {
    Forget();
    return absl::OkStatus();
  }
  if (view_)
    return absl::FailedPreconditionError(
        "commit: a view does not change the session it reads");
  network_->split().Note(path);
  std::vector<int> slots;
  for (int row : path) slots.push_back(length() + row);
  for (KvCache& cache : committed_->caches) {
    const absl::Status moved =
        network_->backend().MoveKv({&cache, slots, length()});
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

absl::Status TransformerSequence::BeginPrefill(
    absl::Span<const TokenId> tokens) {
  if (pending() > 0)
    return absl::FailedPreconditionError("prefill while rows are pending");
  if (view_)
    return absl::FailedPreconditionError(
        "prefill: a view does not change the session it reads");
  const int limit = network_->context_limit();
  if (tokens.size() > static_cast<std::size_t>(limit - length()))
    return OverContextLimit(length() + static_cast<int>(tokens.size()), limit);
  BANYAN_RETURN_IF_ERROR(CheckTokens(tokens));
  return ReserveCommitted(length() + static_cast<int>(tokens.size()));
}

void TransformerSequence::CutTo(int length) {
  committed_->length = length;
  Forget();
}

}  // namespace banyan
