#include "tests/support/row_cache.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/check.h"
#include "core/base/status_macros.h"
#include "core/base/token.h"
#include "core/model/model.h"
#include "core/model/pending_rows.h"
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
  explicit TextSession(const RowCache& cache) : cache_(cache) {}

  int length() const override { return static_cast<int>(text_.size()); }
  int pending() const override { return rows_.size(); }
  absl::Status Prefill(absl::Span<const TokenId> tokens,
                       absl::Span<const int> taps, FeatureSink sink) override {
    std::vector<std::vector<TokenId>> texts;
    for (TokenId token : tokens) {
      text_.push_back(token);
      if (!taps.empty()) texts.push_back(text_);
    }
    if (taps.empty()) return absl::OkStatus();
    return sink(KnownScores(cache_, texts, taps),
                static_cast<int>(texts.size()));
  }
  absl::Status Commit(absl::Span<const int> path) override {
    BANYAN_RETURN_IF_ERROR(rows_.CheckPath(path));
    for (int row : path) text_.push_back(rows_[row].token);
    rows_.Clear();
    return absl::OkStatus();
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
  const RowCache& cache_;
  std::vector<TokenId> text_;
  PendingRows rows_;
};

}  // namespace

std::unique_ptr<Session> RowCache::NewSession() const {
  return std::make_unique<TextSession>(*this);
}

const RowCache::Row& RowCache::After(const std::vector<TokenId>& text) const {
  if (const auto found = rows_.find(text); found != rows_.end())
    return found->second;
  const auto session = model_.NewSession();
  const absl::Span<const TokenId> tokens(text);
  const absl::Status filled = session->Prefill(tokens.first(text.size() - 1));
  Check(filled.ok(), filled.message());
  const TokenBatch batch = TokenBatch::Chain({text.back()}, session->length());
  std::vector<int> taps = {kAfterFinalNorm};
  for (int tap = 0; tap <= layers(); ++tap) taps.push_back(tap);
  const ScoreRequest request = {session.get(), &batch, taps};
  const auto scores = model_.Score({&request, 1});
  Check(scores.ok(), scores.status().message());
  Row row;
  row.logits = MustRead(*scores->front(), 0);
  for (std::size_t i = 0; i < taps.size(); ++i)
    row.states[taps[i]] = MustReadHidden(*scores->front(), static_cast<int>(i),
                                         0, model_.hidden_size());
  return rows_.emplace(text, std::move(row)).first->second;
}

absl::StatusOr<std::vector<std::unique_ptr<Scores>>> RowCache::Score(
    absl::Span<const ScoreRequest> requests) const {
  std::vector<std::unique_ptr<Scores>> result;
  for (const ScoreRequest& request : requests) {
    result.push_back(std::make_unique<KnownScores>(
        *this, static_cast<TextSession*>(request.session)->Add(*request.batch),
        request.taps));
  }
  return result;
}

}  // namespace banyan
