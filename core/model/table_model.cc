#include "core/model/table_model.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "core/base/check.h"
#include "core/base/status_macros.h"
#include "core/base/token.h"
#include "core/model/model.h"

namespace banyan {
namespace {

class TableSession : public Session {
 public:
  TableSession(int vocab_size, int limit)
      : vocab_size_(vocab_size), limit_(limit) {}

  int length() const override { return static_cast<int>(text_.size()); }
  int pending() const override { return static_cast<int>(rows_.size()); }

  absl::Status Prefill(absl::Span<const TokenId> tokens) override {
    if (!rows_.empty())
      return absl::FailedPreconditionError("prefill while rows are pending");
    if (length() + static_cast<int>(tokens.size()) > limit_)
      return OverLimit(length() + static_cast<int>(tokens.size()));
    int position = length();
    for (TokenId token : tokens)
      BANYAN_RETURN_IF_ERROR(CheckToken(token, position++));
    text_.insert(text_.end(), tokens.begin(), tokens.end());
    return absl::OkStatus();
  }

  absl::Status Commit(absl::Span<const int> path) override {
    int parent = TokenBatch::kCommitted;
    std::vector<TokenId> kept;
    for (int row : path) {
      if (row < 0 || row >= pending() || At(row).parent != parent)
        return absl::InvalidArgumentError(absl::StrCat(
            "commit: row ", row, " does not continue the path after ", parent));
      kept.push_back(At(row).token);
      parent = row;
    }
    text_.insert(text_.end(), kept.begin(), kept.end());
    rows_.clear();
    return absl::OkStatus();
  }

  absl::Status CheckBatch(const TokenBatch& batch) const {
    if (batch.positions.size() != batch.tokens.size() ||
        batch.parents.size() != batch.tokens.size())
      return absl::InvalidArgumentError(absl::StrCat(
          "score: ", batch.tokens.size(), " tokens with ",
          batch.positions.size(), " positions and ", batch.parents.size(),
          " parents, expected one of each per token"));
    std::vector<Row> rows = rows_;
    for (int i = 0; i < batch.size(); ++i) {
      const auto at = static_cast<std::size_t>(i);
      const int parent = batch.parents[at];
      if (parent < TokenBatch::kCommitted ||
          parent >= static_cast<int>(rows.size()))
        return absl::InvalidArgumentError(
            absl::StrCat("score: row ", rows.size(), " follows row ", parent,
                         ", which does not stand before it"));
      const int position =
          parent == TokenBatch::kCommitted
              ? length()
              : rows[static_cast<std::size_t>(parent)].position + 1;
      if (batch.positions[at] != position)
        return absl::InvalidArgumentError(
            absl::StrCat("score: row ", rows.size(), " has position ",
                         batch.positions[at], ", expected ", position));
      BANYAN_RETURN_IF_ERROR(CheckToken(batch.tokens[at], position));
      if (position >= limit_) return OverLimit(position + 1);
      rows.push_back({batch.tokens[at], parent, position});
    }
    return absl::OkStatus();
  }

  void Append(const TokenBatch& batch) {
    for (std::size_t i = 0; i < batch.tokens.size(); ++i)
      rows_.push_back({batch.tokens[i], batch.parents[i], batch.positions[i]});
  }

  // The committed text, then the row's ancestors, then the row.
  std::vector<TokenId> TextAt(int row) const {
    std::vector<TokenId> tail;
    for (int i = row; i != TokenBatch::kCommitted; i = At(i).parent)
      tail.push_back(At(i).token);
    std::vector<TokenId> text = text_;
    text.insert(text.end(), tail.rbegin(), tail.rend());
    return text;
  }

 private:
  struct Row {
    TokenId token;
    int parent;
    int position;
  };

  const Row& At(int row) const { return rows_[static_cast<std::size_t>(row)]; }

  absl::Status CheckToken(TokenId token, int position) const {
    const int end = position == 0 ? vocab_size_ + 1 : vocab_size_;
    if (token >= 0 && token < end) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("token ", token, " at position ", position,
                     " is outside the vocabulary of ", vocab_size_,
                     " and no begin token, which stands at position 0 alone"));
  }

  absl::Status OverLimit(int needed) const {
    return absl::OutOfRangeError(absl::StrCat(
        needed, " tokens do not fit the context limit of ", limit_));
  }

  int vocab_size_;
  int limit_;
  std::vector<TokenId> text_;
  std::vector<Row> rows_;
};

class TableScores : public Scores {
 public:
  explicit TableScores(std::vector<std::vector<double>> rows)
      : rows_(std::move(rows)) {}
  void Read(int row, std::vector<double>& logits) const override {
    logits = rows_[static_cast<std::size_t>(row)];
  }

 private:
  std::vector<std::vector<double>> rows_;
};

}  // namespace

TableModel::TableModel(int vocab_size, Law law, int context_limit)
    : vocab_size_(vocab_size),
      context_limit_(context_limit),
      law_(std::move(law)) {}

TableModel TableModel::Bigram(std::vector<double> start,
                              std::vector<std::vector<double>> next) {
  const int vocab_size = static_cast<int>(start.size());
  return {vocab_size, [start = std::move(start),
                       next = std::move(next)](absl::Span<const TokenId> text) {
            const auto last = static_cast<std::size_t>(text.back());
            return last == start.size() ? start : next[last];
          }};
}

std::unique_ptr<Session> TableModel::NewSession() const {
  return std::make_unique<TableSession>(vocab_size_, context_limit_);
}

absl::StatusOr<std::vector<std::unique_ptr<Scores>>> TableModel::Score(
    absl::Span<const ScoreRequest> requests) const {
  for (const ScoreRequest& request : requests) {
    const auto* session = static_cast<const TableSession*>(request.session);
    BANYAN_RETURN_IF_ERROR(session->CheckBatch(*request.batch));
  }
  std::vector<std::unique_ptr<Scores>> result;
  for (const ScoreRequest& request : requests) {
    auto* session = static_cast<TableSession*>(request.session);
    const int first = session->pending();
    session->Append(*request.batch);
    std::vector<std::vector<double>> rows;
    for (int i = 0; i < request.batch->size(); ++i) {
      std::vector<double> row = law_(session->TextAt(first + i));
      Check(static_cast<int>(row.size()) == vocab_size_,
            "a table law of the wrong length");
      for (double& mass : row) mass = std::log(mass);
      rows.push_back(std::move(row));
    }
    result.push_back(std::make_unique<TableScores>(std::move(rows)));
  }
  return result;
}

}  // namespace banyan
