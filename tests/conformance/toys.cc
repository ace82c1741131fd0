#include "tests/conformance/toys.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/common.h"
#include "core/base/token.h"
#include "core/model/model.h"
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

  absl::StatusOr<std::unique_ptr<Session>> View(
      const ViewOptions& options) override {
    BANYAN_ASSIGN_OR_RETURN(auto view, table_->View(options));
    return std::make_unique<StatedSession>(std::move(view));
  }

  Session* table() const { return table_.get(); }

 private:
  std::unique_ptr<Session> table_;
};

ModelShape WithHiddenSize(ModelShape shape) {
  shape.hidden_size = 2;
  return shape;
}

class Stated : public TableModel {
 public:
  explicit Stated(const TableModel& model)
      : TableModel(WithHiddenSize(model.shape()), model) {}

  std::unique_ptr<Session> NewSession() const override {
    return std::make_unique<StatedSession>(TableModel::NewSession());
  }
  absl::StatusOr<std::vector<std::unique_ptr<Scores>>> Score(
      absl::Span<const ScoreRequest> requests) const override {
    std::vector<ScoreRequest> inner(requests.begin(), requests.end());
    std::vector<TokenBatch> batches;
    for (const ScoreRequest& request : requests)
      batches.push_back(Named(request));
    for (std::size_t i = 0; i < inner.size(); ++i) {
      for (Session** session : {&inner[i].session, &inner[i].done.view})
        if (*session != nullptr)
          *session = static_cast<StatedSession*>(*session)->table();
      inner[i].batch = &batches[i];
      inner[i].vectors = {};
    }
    BANYAN_ASSIGN_OR_RETURN(auto scores, TableModel::Score(inner));
    for (std::size_t i = 0; i < scores.size(); ++i)
      scores[i] =
          std::make_unique<StatedScores>(std::move(scores[i]), batches[i]);
    return scores;
  }

 private:
  // The batch, with the tokens that its vectors name.
  TokenBatch Named(const ScoreRequest& request) const {
    TokenBatch batch = *request.batch;
    const auto size = static_cast<std::size_t>(hidden_size());
    Check(request.vectors.size() == request.vector_rows.size() * size,
          "a vector for each of its rows");
    for (std::size_t i = 0; i < request.vector_rows.size(); ++i)
      batch.tokens[static_cast<std::size_t>(request.vector_rows[i])] =
          static_cast<TokenId>(request.vectors[i * size]);
    return batch;
  }
};

std::uint64_t First(const ToyOptions& options) {
  return Mix(static_cast<std::uint64_t>(options.seed) + 1);
}

}  // namespace

std::shared_ptr<TableModel> Toy(const ToyOptions& options) {
  const auto state_after = [options](absl::Span<const TokenId> text) {
    std::uint64_t state = First(options);
    for (TokenId token : text)
      state = Mix(state ^ static_cast<std::uint64_t>(token + 1));
    return state;
  };
  const auto law = [options, state_after](absl::Span<const TokenId> text) {
    return Row(options, state_after(text));
  };
  // Each block that is left out moves the distribution away from the model's.
  const auto view_law = [options, state_after, law](
                            absl::Span<const TokenId> text,
                            const ViewOptions& view) {
    std::vector<double> row = law(text);
    const auto blocks = view.attention.size() + 2 * view.feed_forward.size();
    const auto left_out =
        static_cast<double>(3 * static_cast<std::size_t>(options.layers) -
                            blocks) /
        (3.0 * options.layers);
    const std::vector<double> other =
        Row(options, Mix(state_after(text) ^ blocks));
    for (std::size_t i = 0; i < row.size(); ++i)
      row[i] += left_out * (other[i] - row[i]);
    return row;
  };
  return std::make_shared<TableModel>(
      TableModel(options.vocab_size, law)
          .WithLayers({options.layers, view_law}));
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
