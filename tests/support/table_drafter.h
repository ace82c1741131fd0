// A drafter that reads its proposals from a function, and counts.
#ifndef BANYAN_TESTS_SUPPORT_TABLE_DRAFTER_H_
#define BANYAN_TESTS_SUPPORT_TABLE_DRAFTER_H_

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/token.h"
#include "core/model/context.h"
#include "core/model/table_model.h"
#include "core/prob/distribution.h"
#include "drafters/drafter.h"
#include "tests/support/models.h"
#include "tree/derive.h"
#include "tree/draft_tree.h"
#include "tree/trunk_tree.h"
#include "tree/verdict.h"

namespace banyan {

class TableDrafter : public Drafter {
 public:
  // The proposal after the context and the node's path.
  using Law = std::function<Distribution(absl::Span<const TokenId> text)>;

  explicit TableDrafter(Law law) : law_(std::move(law)) {}
  explicit TableDrafter(std::shared_ptr<TableModel> model)
      : TableDrafter([model](absl::Span<const TokenId> text) {
          return LawAfter(*model, text);
        }) {}

  std::unique_ptr<Drafter> Clone() const override {
    return std::make_unique<TableDrafter>(*this);
  }
  std::vector<DraftLaw> laws() const override {
    return {DraftLaw::kIndependent, DraftLaw::kWithoutReplacement,
            DraftLaw::kDeterministic};
  }
  absl::Status Begin(const Context& /*context*/) override {
    return absl::OkStatus();
  }
  absl::StatusOr<std::vector<Distribution>> Propose(
      const Context& context, const TrunkTree& tree,
      absl::Span<const int> nodes) override {
    passes_.emplace_back(nodes.begin(), nodes.end());
    std::vector<Distribution> proposals;
    for (int node : nodes) {
      std::vector<TokenId> text = context.tokens;
      const std::vector<TokenId> path = TokensTo(tree, node);
      text.insert(text.end(), path.begin(), path.end());
      proposals.push_back(law_(text));
    }
    return proposals;
  }
  absl::Status Observe(const Context& /*context*/,
                       const RoundOutcome& /*outcome*/) override {
    return absl::OkStatus();
  }

  // The nodes of each pass so far.
  const std::vector<std::vector<int>>& passes() const { return passes_; }

 private:
  Law law_;
  std::vector<std::vector<int>> passes_;
};

}  // namespace banyan

#endif  // BANYAN_TESTS_SUPPORT_TABLE_DRAFTER_H_
