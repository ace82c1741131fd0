#include "tests/conformance/toys.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/status_macros.h"
#include "core/base/token.h"
#include "core/model/model.h"
#include "core/model/table_model.h"
#include "tests/support/mix.h"

namespace banyan {
namespace {

std::vector<double> Row(const ToyOptions& options, std::uint64_t state) {
  std::vector<double> row;
  double sum = 0;
  for (int token = 0; token < options.vocab_size; ++token) {
    state = Mix(state);
    const double u = static_cast<double>(state >> 11) * 0x1p-53;
    const bool none = options.zeros && token > 0 && (state & 3) == 0;
    row.push_back(none ? 0 : std::exp(2 * options.sharpness * u));
    sum += row.back();
  }
  for (double& mass : row) mass /= sum;
  return row;
}

class StatedScores : public Scores {
 public:
  StatedScores(std::unique_ptr<Scores> scores, const TokenBatch& batch)
      : scores_(std::move(scores)) {
    for (std::size_t i = 0; i < batch.tokens.size(); ++i)
      states_.push_back({static_cast<float>(batch.tokens[i]),
                         static_cast<float>(batch.positions[i])});
  }
  int vocab_size() const override { return scores_->vocab_size(); }
  absl::Status Read(int row, std::vector<double>& logits) const override {
    return scores_->Read(row, logits);
  }
  absl::Status ReadHidden(int /*tap*/, int row,
                          absl::Span<float> out) const override {
    const std::array<float, 2>& state = states_[static_cast<std::size_t>(row)];
    std::copy(state.begin(), state.end(), out.begin());
    return absl::OkStatus();
  }

 private:
  std::unique_ptr<Scores> scores_;
  std::vector<std::array<float, 2>> states_;
};

class StatedSession : public Session {
 public:
  explicit StatedSession(std::unique_ptr<Session> table)
      : table_(std::move(table)) {}

  int length() const override { return table_->length(); }
  int pending() const override { return table_->pending(); }
  absl::Status Prefill(absl::Span<const TokenId> tokens,
                       absl::Span<const int> taps, FeatureSink sink) override {
    TokenBatch batch;
    for (TokenId token : tokens) {
      batch.positions.push_back(length() + batch.size());
      batch.tokens.push_back(token);
    }
    BANYAN_RETURN_IF_ERROR(table_->Prefill(tokens));
    if (taps.empty()) return absl::OkStatus();
    return sink(StatedScores(nullptr, batch), batch.size());
  }
  absl::Status Commit(absl::Span<const int> path) override {
    return table_->Commit(path);
  }

  Session* table() const { return table_.get(); }

 private:
  std::unique_ptr<Session> table_;
};

class Stated : public TableModel {
 public:
  explicit Stated(const TableModel& model) : TableModel(model) {}

  int hidden_size() const override { return 2; }
  std::unique_ptr<Session> NewSession() const override {
    return std::make_unique<StatedSession>(TableModel::NewSession());
  }
  absl::StatusOr<std::vector<std::unique_ptr<Scores>>> Score(
      absl::Span<const ScoreRequest> requests) const override {
    std::vector<ScoreRequest> inner(requests.begin(), requests.end());
    for (ScoreRequest& request : inner)
      request.session = static_cast<StatedSession*>(request.session)->table();
    BANYAN_ASSIGN_OR_RETURN(auto scores, TableModel::Score(inner));
    for (std::size_t i = 0; i < scores.size(); ++i)
      scores[i] = std::make_unique<StatedScores>(std::move(scores[i]),
                                                 *requests[i].batch);
    return scores;
  }
};

std::uint64_t First(const ToyOptions& options) {
  return Mix(static_cast<std::uint64_t>(options.seed) + 1);
}

}  // namespace

std::shared_ptr<TableModel> Toy(const ToyOptions& options) {
  return std::make_shared<TableModel>(
      options.vocab_size, [options](absl::Span<const TokenId> text) {
        std::uint64_t state = First(options);
        for (TokenId token : text)
          state = Mix(state ^ static_cast<std::uint64_t>(token + 1));
        return Row(options, state);
      });
}

std::shared_ptr<TableModel> DepthToy(const ToyOptions& options) {
  return std::make_shared<TableModel>(
      options.vocab_size, [options](absl::Span<const TokenId> text) {
        return Row(options, Mix(First(options) ^ text.size()));
      });
}

std::shared_ptr<TableModel> WithStates(const TableModel& model) {
  return std::make_shared<Stated>(model);
}

}  // namespace banyan
