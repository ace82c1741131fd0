#include "core/model/table_model.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "core/base/check.h"
#include "core/model/session_state.h"

namespace banyan {
namespace {

class TableSession : public Session {
 public:
  TableSession(int vocab_size, int limit, int layers)
      : vocab_size_(vocab_size),
        limit_(limit),
        layers_(layers),
        committed_(std::make_shared<Committed>()) {}

  int length() const override {
    return static_cast<int>(committed_->text.size());
  }
  int pending() const override { return Fresh() ? rows_.size() : 0; }

  absl::Status Prefill(absl::Span<const TokenId> tokens,
                       absl::Span<const int> taps,
                       FeatureSink /*sink*/) override {
    if (!taps.empty())
      return absl::InvalidArgumentError(
          "prefill: a table has no hidden states");
    if (pending() > 0)
      return absl::FailedPreconditionError("prefill while rows are pending");
    if (view_)
      return absl::FailedPreconditionError(
          "prefill: a view does not change the session it reads");
    if (length() + static_cast<int>(tokens.size()) > limit_)
      return OverContextLimit(length() + static_cast<int>(tokens.size()),
                              limit_);
    int position = length();
    for (TokenId token : tokens)
      BANYAN_RETURN_IF_ERROR(CheckToken(token, position++));
    committed_->text.insert(committed_->text.end(), tokens.begin(),
                            tokens.end());
    ++committed_->commits;
    commits_ = committed_->commits;
    return absl::OkStatus();
  }

  absl::Status Commit(absl::Span<const int> path) override {
    if (!Fresh()) Forget();
    BANYAN_RETURN_IF_ERROR(rows_.CheckPath(path));
    if (view_ && !path.empty())
      return absl::FailedPreconditionError(
          "commit: a view does not change the session it reads");
    for (int row : path) committed_->text.push_back(rows_[row].token);
    if (!path.empty()) ++committed_->commits;
    Forget();
    return absl::OkStatus();
  }

  absl::StatusOr<std::unique_ptr<Session>> View(
      const ViewOptions& options) override {
    if (layers_ == 0) return Session::View(options);
    if (options.weights != nullptr)
      return absl::InvalidArgumentError("view: a table has no weights");
    for (const std::vector<int>* blocks :
         {&options.attention, &options.feed_forward})
      for (std::size_t i = 0; i < blocks->size(); ++i)
        if ((*blocks)[i] < 0 || (*blocks)[i] >= layers_ ||
            (i > 0 && (*blocks)[i] <= (*blocks)[i - 1]))
          return absl::InvalidArgumentError(
              absl::StrCat("view: expected ascending layers below ", layers_));
    auto view = std::make_unique<TableSession>(*this);
    view->Forget();
    view->view_ = options;
    const std::vector<float> alike(static_cast<std::size_t>(length()));
    view->chunks_ = BestChunks(options.seen, length(), alike);
    return view;
  }

  const std::optional<ViewOptions>& view() const { return view_; }

  // That the rows spell what the view scored.
  absl::Status CheckDone(const DoneRows& done, const TokenBatch& batch) const {
    const auto* view = dynamic_cast<const TableSession*>(done.view);
    if (view == nullptr || view->committed_ != committed_ ||
        !view->view_->keeps_rows || done.rows.size() != batch.tokens.size())
      return absl::InvalidArgumentError(
          "score: rows to go on from that no view of this session kept");
    for (int i = 0; i < batch.size(); ++i) {
      const int row = done.rows[static_cast<std::size_t>(i)];
      if (row >= 0 &&
          (row >= view->pending() || TailOf(batch, i) != view->TailAt(row)))
        return absl::InvalidArgumentError(
            "score: rows to go on from of other tokens");
    }
    return absl::OkStatus();
  }

  absl::Status CheckBatch(const TokenBatch& batch) const {
    static const PendingRows kNone;
    const PendingRows& rows = Fresh() ? rows_ : kNone;
    return rows.CheckBatch(batch, length(), limit_,
                           [this](TokenId token, int position) {
                             return CheckToken(token, position);
                           });
  }

  void Append(const TokenBatch& batch) {
    if (!Fresh()) Forget();
    rows_.Append(batch);
  }

  // What is seen of the committed text, then the row's ancestors, then the row.
  std::vector<TokenId> TextAt(int row) const {
    const std::vector<TokenId> tail = TailAt(row);
    std::vector<TokenId> text;
    const SeenText seen = view_ ? view_->seen : SeenText();
    for (int slot : SeenSlots(seen, chunks_, length()))
      text.push_back(committed_->text[static_cast<std::size_t>(slot)]);
    text.insert(text.end(), tail.rbegin(), tail.rend());
    return text;
  }

 private:
  struct Committed {
    std::vector<TokenId> text;
    std::uint64_t commits = 0;
  };

  // Whether the pending rows still follow the committed text: those of a view
  // vanish when its parent commits.
  bool Fresh() const { return commits_ == committed_->commits; }
  void Forget() {
    rows_.Clear();
    commits_ = committed_->commits;
  }

  // A pending row and its ancestors, itself first.
  std::vector<TokenId> TailAt(int row) const {
    std::vector<TokenId> tail;
    for (int i = row; i != TokenBatch::kCommitted; i = rows_[i].parent)
      tail.push_back(rows_[i].token);
    return tail;
  }

  // The same of a row of a batch that is to be appended.
  std::vector<TokenId> TailOf(const TokenBatch& batch, int i) const {
    std::vector<TokenId> tail;
    const int first = pending();
    for (i += first; i >= first;
         i = batch.parents[static_cast<std::size_t>(i - first)])
      tail.push_back(batch.tokens[static_cast<std::size_t>(i - first)]);
    if (i == TokenBatch::kCommitted) return tail;
    const std::vector<TokenId> above = TailAt(i);
    tail.insert(tail.end(), above.begin(), above.end());
    return tail;
  }

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
  int layers_;
  std::shared_ptr<Committed> committed_;
  std::optional<ViewOptions> view_;
  std::vector<int> chunks_;    // that the view sees
  std::uint64_t commits_ = 0;  // of the text that the pending rows follow
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
    : Model({.vocab_size = vocab_size, .context_limit = context_limit}),
      law_(std::move(law)) {}

TableModel::TableModel(ModelShape shape, const TableModel& table)
    : Model(std::move(shape)), law_(table.law_), layers_(table.layers_) {}

TableModel TableModel::WithLayers(TableLayers layers) const {
  ModelShape with = shape();
  with.layers = layers.count;
  TableModel model(std::move(with), *this);
  model.layers_ = std::move(layers);
  return model;
}

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
  return std::make_unique<TableSession>(vocab_size(), context_limit(),
                                        layers());
}

absl::StatusOr<std::vector<std::unique_ptr<Scores>>> TableModel::Score(
    absl::Span<const ScoreRequest> requests) const {
  for (const ScoreRequest& request : requests) {
    const auto* session = static_cast<const TableSession*>(request.session);
    BANYAN_RETURN_IF_ERROR(session->CheckBatch(*request.batch));
    if (!request.vectors.empty())
      return absl::InvalidArgumentError(
          "score: a table's rows start from tokens, not from vectors");
    if (request.done.view != nullptr)
      BANYAN_RETURN_IF_ERROR(session->CheckDone(request.done, *request.batch));
  }
  std::vector<std::unique_ptr<Scores>> result;
  for (const ScoreRequest& request : requests) {
    auto* session = static_cast<TableSession*>(request.session);
    const int first = session->pending();
    session->Append(*request.batch);
    std::vector<std::vector<double>> rows;
    for (int i = 0; i < request.batch->size(); ++i) {
      const std::vector<TokenId> text = session->TextAt(first + i);
      std::vector<double> row =
          session->view() ? layers_.law(text, *session->view()) : law_(text);
      Check(static_cast<int>(row.size()) == vocab_size(),
            "a table row of the wrong length");
      for (double& mass : row) mass = std::log(mass);
      rows.push_back(std::move(row));
    }
    result.push_back(
        std::make_unique<TableScores>(vocab_size(), std::move(rows)));
  }
  return result;
}

}  // namespace banyan
