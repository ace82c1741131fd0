// Models and distributions that the tests share.
#ifndef BANYAN_TESTS_SUPPORT_SHARED_MODELS_H_
#define BANYAN_TESTS_SUPPORT_SHARED_MODELS_H_

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "core/base/token.h"
#include "core/model/context.h"
#include "core/model/model.h"
#include "core/model/table_model.h"
#include "core/prob/distribution.h"
#include "core/prob/sampling_rule.h"

namespace banyan {

// The logits after `text`, read as one chain by a fresh session.
std::vector<double> LogitsAfter(const Model& model,
                                absl::Span<const TokenId> text);
// Returns the distribution that the rule makes of these logits.
Distribution LawAfter(const Model& model, absl::Span<const TokenId> text,
                      const SamplingRule& rule = SamplingRule());

// A model that says `script` after begin(), whatever else stands in the text,
// and then its last token for ever.
std::shared_ptr<TableModel> Script(int vocab_size, std::vector<TokenId> script);

// Returns a model with the same distribution, up to rounding, and a smaller
// context.
std::shared_ptr<TableModel> Limited(std::shared_ptr<TableModel> model,
                                    int context_limit);

// A context that holds a prompt.
Context ContextOf(std::vector<TokenId> prompt);

// Exactly the same masses, stored densely or not.
bool Equal(const Distribution& a, const Distribution& b);

// The masses of every token.
std::vector<double> Masses(const Distribution& law);

// Rows by node.
class FixedRows : public RowSource {
 public:
  explicit FixedRows(std::vector<Distribution> rows) : rows_(std::move(rows)) {}

  const Distribution& Row(int node) override {
    return rows_.at(static_cast<std::size_t>(node));
  }

 private:
  std::vector<Distribution> rows_;
};

}  // namespace banyan

#endif  // BANYAN_TESTS_SUPPORT_SHARED_MODELS_H_
