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
#include "core/model/pending_rows.h"

namespace banyan {
namespace {

class TableSession : public Session {
 public:
  TableSession(int vocab_size, int limit)
      : vocab_size_(vocab_size), limit_(limit) {}

  int length() const override { return static_cast<int>(text_.size()); }
  int pending() const override { return rows_.size(); }

  absl::Status Prefill(absl::Span<const TokenId> tokens,
                       absl::Span<const int> taps,
                       FeatureSink /*sink*/) override {
    if (!taps.empty())
      return absl::InvalidArgumentError(
          "prefill: a table has no hidden states");
    if (pending() > 0)
      return absl::FailedPreconditionError("prefill while rows are pending");
    if (length() + static_cast<int>(tokens.size()) > limit_)
      return OverContextLimit(length() + static_cast<int>(tokens.size()),
                              limit_);
    int position = length();
    for (TokenId token : tokens)
      BANYAN_RETURN_IF_ERROR(CheckToken(token, position++));
    text_.insert(text_.end(), tokens.begin(), tokens.end());
    return absl::OkStatus();
  }

  absl::Status Commit(absl::Span<const int> path) override {
    BANYAN_RETURN_IF_ERROR(rows_.CheckPath(path));
    for (int row : path) text_.push_back(rows_[row].token);
    rows_.Clear();
    return absl::OkStatus();
  }

  absl::Status CheckBatch(const TokenBatch& batch) const {
    return rows_.CheckBatch(batch, length(), limit_,
                            [this](TokenId token, int position) {
                              return CheckToken(token, position);
                            });
  }

  void Append(const TokenBatch& batch) { rows_.Append(batch); }

  // The committed text, then the row's ancestors, then the row.
  std::vector<TokenId> TextAt(int row) const {
    std::vector<TokenId> tail;
    for (int i = row; i != TokenBatch::kCommitted; i = rows_[i].parent)
      tail.push_back(rows_[i].token);
    std::vector<TokenId> text = text_;
    text.insert(text.end(), tail.rbegin(), tail.rend());
    return text;
  }

 private:
  absl::Status CheckToken(TokenId token, int position) const {
    const int end = position == 0 ? vocab_size_ + 1 : vocab_size_;
    if (token >= 0 && token < end) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("token ", token, " at position ", position,
                     " is outside the vocabulary of ", vocab_size_,
                     " and no begin token, which stands at position 0 alone"));
  }

  int vocab_size_;
  int limit_;
  std::vector<TokenId> text_;
  PendingRows rows_;
};

class TableScores : public Scores {
 public:
  TableScores(int vocab_size, std::vector<std::vector<double>> rows)
      : vocab_size_(vocab_size), rows_(std::move(rows)) {}
  int vocab_size() const override { return vocab_size_; }
  absl::Status Read(int row, std::vector<double>& logits) const override {
    logits = rows_[static_cast<std::size_t>(row)];
    return absl::OkStatus();
  }

 private:
  int vocab_size_;
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
    if (!request.vectors.empty())
      return absl::InvalidArgumentError(
          "score: a table's rows start from tokens, not from vectors");
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
    result.push_back(
        std::make_unique<TableScores>(vocab_size_, std::move(rows)));
  }
  return result;
}

}  // namespace banyan
