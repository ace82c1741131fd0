#include "tests/support/row_cache.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "core/base/check.h"
#include "core/model/session_state.h"
#include "tests/support/must_read.h"

namespace banyan {
namespace {

// Rows are looked up when they are read: a verifier reads few of a tree's.
class KnownScores : public Scores {
 public:
  KnownScores(const RowCache& cache, std::vector<std::vector<TokenId>> texts,
              absl::Span<const int> taps)
      : cache_(cache),
        texts_(std::move(texts)),
        taps_(taps.begin(), taps.end()) {}
  int vocab_size() const override { return cache_.vocab_size(); }
  absl::Status Read(int row, std::vector<double>& logits) const override {
    logits = At(row).logits;
    return absl::OkStatus();
  }
  absl::Status ReadHidden(int tap, int row,
                          absl::Span<float> out) const override {
    const std::vector<float>& state =
        At(row).states.at(taps_[static_cast<std::size_t>(tap)]);
    std::copy(state.begin(), state.end(), out.begin());
    return absl::OkStatus();
  }

 private:
  const RowCache::Row& At(int row) const {
    return cache_.After(texts_[static_cast<std::size_t>(row)]);
  }

  const RowCache& cache_;
  std::vector<std::vector<TokenId>> texts_;
  std::vector<int> taps_;
};

class TextSession : public Session {
 public:
  TextSession(const RowCache& cache, const Model& model)
      : cache_(cache), model_(model) {}

  int length() const override { return static_cast<int>(text_.size()); }
  int pending() const override { return rows_.size(); }
  absl::Status Prefill(absl::Span<const TokenId> tokens,
                       absl::Span<const int> taps, FeatureSink sink) override {
    std::vector<std::vector<TokenId>> texts;
    for (TokenId token : tokens) {
      text_.push_back(token);
      if (!taps.empty()) texts.push_back(text_);
    }
    BANYAN_RETURN_IF_ERROR(Follow());
    if (taps.empty()) return absl::OkStatus();
    return sink(KnownScores(cache_, texts, taps),
                static_cast<int>(texts.size()));
  }
  absl::Status Commit(absl::Span<const int> path) override {
    BANYAN_RETURN_IF_ERROR(rows_.CheckPath(path));
    for (int row : path) text_.push_back(rows_[row].token);
    rows_.Clear();
    return Follow();
  }
  absl::StatusOr<std::unique_ptr<Session>> View(
      const ViewOptions& options) override {
    if (seen_ == nullptr) seen_ = model_.NewSession();
    BANYAN_RETURN_IF_ERROR(Follow());
    return seen_->View(options);
  }

  // Adds a batch; the texts its rows follow.
  std::vector<std::vector<TokenId>> Add(const TokenBatch& batch) {
    const int first = rows_.size();
    rows_.Append(batch);
    std::vector<std::vector<TokenId>> texts;
    for (int row = first; row < rows_.size(); ++row) {
      std::vector<TokenId> tail;
      for (int i = row; i != TokenBatch::kCommitted; i = rows_[i].parent)
        tail.push_back(rows_[i].token);
      texts.push_back(text_);
      texts.back().insert(texts.back().end(), tail.rbegin(), tail.rend());
    }
    return texts;
  }

 private:
  absl::Status Follow() {
    if (seen_ == nullptr) return absl::OkStatus();
    return seen_->Prefill(absl::MakeConstSpan(text_).subspan(
        static_cast<std::size_t>(seen_->length())));
  }

  const RowCache& cache_;
  const Model& model_;
  std::vector<TokenId> text_;
  PendingRows rows_;
  std::unique_ptr<Session>
      seen_;  // the model's own, once there are views of it
};

}  // namespace

std::unique_ptr<Session> RowCache::NewSession() const {
  return std::make_unique<TextSession>(*this, model_);
}

const RowCache::Row& RowCache::After(const std::vector<TokenId>& text) const {
  if (const auto found = rows_.find(text); found != rows_.end())
    return found->second;
  const auto session = model_.NewSession();
  const absl::Span<const TokenId> tokens(text);
  const auto known = static_cast<std::size_t>(
      std::find_if(text.begin(), text.end() - 1,
                   [](TokenId token) { return token < 0; }) -
      text.begin());
  const absl::Status filled = session->Prefill(tokens.first(known));
  Check(filled.ok(), filled.message());
  TokenBatch batch =
      TokenBatch::Chain(tokens.subspan(known), session->length());
  std::vector<int> taps = {kAfterFinalNorm};
  for (int tap = 0; tap <= layers(); ++tap) taps.push_back(tap);
  std::vector<float> vectors;
  std::vector<int> vector_rows;
  for (int i = 0; i < batch.size(); ++i) {
    TokenId& token = batch.tokens[static_cast<std::size_t>(i)];
    if (token >= 0) continue;
    const auto& vector = vectors_[static_cast<std::size_t>(-token - 1)];
    vectors.insert(vectors.end(), vector.begin(), vector.end());
    vector_rows.push_back(i);
    token = 0;
  }
  const ScoreRequest request = {.session = session.get(),
                                .batch = &batch,
                                .taps = taps,
                                .vectors = vectors,
                                .vector_rows = vector_rows};
  const auto scores = model_.Score({&request, 1});
  Check(scores.ok(), scores.status().message());
  const int last = batch.size() - 1;
  Row row;
  row.logits = MustRead(*scores->front(), last);
  for (std::size_t i = 0; i < taps.size(); ++i)
    row.states[taps[i]] = MustReadHidden(*scores->front(), static_cast<int>(i),
                                         last, model_.hidden_size());
  return rows_.emplace(text, std::move(row)).first->second;
}

TokenBatch RowCache::Named(const ScoreRequest& request) const {
  TokenBatch batch = *request.batch;
  const auto size = static_cast<std::size_t>(hidden_size());
  for (std::size_t i = 0; i < request.vector_rows.size(); ++i) {
    const auto values = request.vectors.subspan(i * size, size);
    const std::vector<float> vector(values.begin(), values.end());
    auto at = std::find(vectors_.begin(), vectors_.end(), vector);
    if (at == vectors_.end()) at = vectors_.insert(at, vector);
    batch.tokens[static_cast<std::size_t>(request.vector_rows[i])] =
        -1 - static_cast<TokenId>(at - vectors_.begin());
  }
  return batch;
}

absl::StatusOr<std::vector<std::unique_ptr<Scores>>> RowCache::Score(
    absl::Span<const ScoreRequest> requests) const {
  std::vector<std::unique_ptr<Scores>> result;
  for (const ScoreRequest& request : requests) {
    result.push_back(std::make_unique<KnownScores>(
        *this, static_cast<TextSession*>(request.session)->Add(Named(request)),
        request.taps));
  }
  return result;
}

}  // namespace banyan
