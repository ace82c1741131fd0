// TableModel: an exact toy model. The distribution of the next token is a given
// function of the text so far, so all that a method does can be enumerated.
//
// Tokens are 0 .. vocab_size - 1. One more id, begin() == vocab_size, may stand
// at position 0 of a session, nowhere else, and is never emitted.
#ifndef BANYAN_CORE_MODEL_TABLE_MODEL_H_
#define BANYAN_CORE_MODEL_TABLE_MODEL_H_

#include <functional>
#include <memory>
#include <vector>

#include "core/base/common.h"
#include "core/base/token.h"
#include "core/model/model.h"

namespace banyan {

// The layers of a table. Views of the table have a distribution of their own.
struct TableLayers {
  // Returns masses as TableModel::Law does; `text` is the part the view sees.
  using Law = std::function<std::vector<double>(absl::Span<const TokenId> text,
                                                const ViewOptions& view)>;
  int count = 0;
  Law law;
};

class TableModel : public Model {
 public:
  // Gives the masses of the next token after `text`, all of a session's tokens
  // up to there, never none. They sum to 1.
  using Law =
      std::function<std::vector<double>(absl::Span<const TokenId> text)>;

  TableModel(int vocab_size, Law law, int context_limit = 1 << 20);
  // `start` is the distribution of the first token, next[t] of that after t.
  static TableModel Bigram(std::vector<double> start,
                           std::vector<std::vector<double>> next);

  // The same with layers, and so with views.
  TableModel WithLayers(TableLayers layers) const;

  TokenId begin() const { return vocab_size(); }
  std::unique_ptr<Session> NewSession() const override;
  // Logits are the natural logarithms of the masses. Of chunks a view sees the
  // first.
  absl::StatusOr<std::vector<std::unique_ptr<Scores>>> Score(
      absl::Span<const ScoreRequest> requests) const override;

 protected:
  // Makes the same table with another shape.
  TableModel(ModelShape shape, const TableModel& table);

 private:
  Law law_;
  TableLayers layers_;
};

}  // namespace banyan

#endif  // BANYAN_CORE_MODEL_TABLE_MODEL_H_
