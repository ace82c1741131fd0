#include "tests/support/row_cache.h"

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

namespace banyan {
namespace {

class TextSession : public Session {
 public:
  int length() const override { return static_cast<int>(text_.size()); }
  int pending() const override { return rows_.size(); }
  absl::Status Prefill(absl::Span<const TokenId> tokens) override {
    text_.insert(text_.end(), tokens.begin(), tokens.end());
    return absl::OkStatus();
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
  std::vector<TokenId> text_;
  PendingRows rows_;
};

// Rows are looked up when they are read: a verifier reads few of a tree's.
class KnownScores : public Scores {
 public:
  KnownScores(const RowCache& cache, std::vector<std::vector<TokenId>> texts)
      : cache_(cache), texts_(std::move(texts)) {}
  void Read(int row, std::vector<double>& logits) const override {
    logits = At(row).logits;
  }
  absl::Span<const float> Hidden(int /*tap*/, int row) const override {
    return At(row).last_state;
  }

 private:
  const RowCache::Row& At(int row) const {
    return cache_.After(texts_[static_cast<std::size_t>(row)]);
  }

  const RowCache& cache_;
  std::vector<std::vector<TokenId>> texts_;
};

}  // namespace

std::unique_ptr<Session> RowCache::NewSession() const {
  return std::make_unique<TextSession>();
}

const RowCache::Row& RowCache::After(const std::vector<TokenId>& text) const {
  if (const auto found = rows_.find(text); found != rows_.end())
    return found->second;
  const auto session = model_.NewSession();
  const absl::Span<const TokenId> tokens(text);
  const absl::Status filled = session->Prefill(tokens.first(text.size() - 1));
  Check(filled.ok(), filled.message());
  const TokenBatch batch = {.tokens = {text.back()},
                            .positions = {session->length()},
                            .parents = {TokenBatch::kCommitted}};
  const ScoreRequest request = {session.get(), &batch, {kAfterFinalNorm}};
  const auto scores = model_.Score({&request, 1});
  Check(scores.ok(), scores.status().message());
  Row row;
  scores->front()->Read(0, row.logits);
  const auto state = scores->front()->Hidden(0, 0);
  row.last_state.assign(state.begin(), state.end());
  return rows_.emplace(text, std::move(row)).first->second;
}

absl::StatusOr<std::vector<std::unique_ptr<Scores>>> RowCache::Score(
    absl::Span<const ScoreRequest> requests) const {
  std::vector<std::unique_ptr<Scores>> result;
  for (const ScoreRequest& request : requests) {
    for (int tap : request.taps)
      Check(tap == kAfterFinalNorm, "a state that is not remembered");
    result.push_back(std::make_unique<KnownScores>(
        *this,
        static_cast<TextSession*>(request.session)->Add(*request.batch)));
  }
  return result;
}

}  // namespace banyan
