#include "decode/target_rows.h"

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "core/model/context.h"
#include "core/model/model.h"
#include "core/prob/distribution.h"
#include "core/prob/sampling_rule.h"
#include "tree/derive.h"
#include "tree/draft_tree.h"

namespace banyan {

TargetRows::TargetRows(const Scores& scores, const SamplingRule& rule,
                       const Context& context, const DraftTree& tree)
    : scores_(scores),
      rule_(rule),
      context_(context),
      tree_(tree),
      rows_(static_cast<std::size_t>(tree.size())) {}

const Distribution& TargetRows::Row(int node) {
  std::optional<Distribution>& row = rows_[static_cast<std::size_t>(node)];
  if (!row.has_value()) row = Make(node);
  return *row;
}

Distribution TargetRows::Glance(int node) {
  const std::optional<Distribution>& row =
      rows_[static_cast<std::size_t>(node)];
  return row.has_value() ? *row : Make(node);
}

Distribution TargetRows::Make(int node) {
  absl::StatusOr<Distribution> made =
      scores_.Law(node, rule_, context_.tokens, TokensTo(tree_, node));
  if (made.ok()) return *std::move(made);
  status_.Update(made.status());
  const int size = scores_.vocab_size();
  return Distribution::Dense(
      std::vector<double>(static_cast<std::size_t>(size), 1.0 / size));
}

}  // namespace banyan
