// A drafter that reads its proposals from a function, and counts.
#ifndef BANYAN_TESTS_SUPPORT_TABLE_DRAFTER_H_
#define BANYAN_TESTS_SUPPORT_TABLE_DRAFTER_H_

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/common.h"
#include "core/base/token.h"
#include "core/model/table_model.h"
#include "core/prob/distribution.h"
#include "drafters/drafter.h"
#include "tests/support/shared_models.h"
#include "tree/derive.h"

namespace banyan {

class TableDrafter : public Drafter {
 public:
  // The proposal after the context and the node's path.
  using Law = std::function<Distribution(absl::Span<const TokenId> text)>;

  explicit TableDrafter(Law law, CarriedState* carried = nullptr)
      : Drafter({.draw_kinds = EveryDrawKind()}, carried),
        law_(std::move(law)) {}
  explicit TableDrafter(std::shared_ptr<TableModel> model,
                        CarriedState* carried = nullptr)
      : TableDrafter(
            [model](absl::Span<const TokenId> text) {
              return LawAfter(*model, text);
            },
            carried) {}

  std::unique_ptr<DraftSession> NewSession() const override {
    return std::make_unique<BlankSession>();
  }
  absl::StatusOr<std::vector<Proposals>> Propose(
      absl::Span<const DraftRequest> requests) override {
    std::vector<Proposals> all;
    for (const DraftRequest& request : requests) {
      passes_.push_back(request.nodes);
      all.emplace_back();
      for (int node : request.nodes) {
        std::vector<TokenId> text = request.context->tokens;
        const std::vector<TokenId> path = TokensTo(*request.tree, node);
        text.insert(text.end(), path.begin(), path.end());
        all.back().push_back({law_(text)});
      }
    }
    return all;
  }

  // The nodes of each pass so far.
  const std::vector<std::vector<int>>& passes() const { return passes_; }

 private:
  Law law_;
  std::vector<std::vector<int>> passes_;
};

}  // namespace banyan

#endif  // BANYAN_TESTS_SUPPORT_TABLE_DRAFTER_H_
