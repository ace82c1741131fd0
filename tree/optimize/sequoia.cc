#include "tree/optimize/sequoia.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "core/base/common.h"
#include "tree/optimize/sequoia_table.h"
#include "tree/optimize/shape.h"

namespace banyan {
namespace {

absl::Status CheckLimit(absl::string_view name, int value) {
  if (value >= 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      name, " is ", value, "; expected a positive number, or 0 for no limit"));
}

}  // namespace

absl::Status CheckOptions(const SequoiaOptions& options) {
  if (options.acceptance.empty()) {
    return absl::InvalidArgumentError(
        "acceptance is empty; expected the acceptance of rank 1, of rank 2, "
        "...");
  }
  BANYAN_RETURN_IF_ERROR(CheckAcceptance(options.acceptance, "acceptance"));
  if (options.nodes < 0 || options.nodes > SequoiaOptions::kMaxNodes) {
    return absl::InvalidArgumentError(
        absl::StrCat("nodes is ", options.nodes, "; expected 0 to ",
                     SequoiaOptions::kMaxNodes, " drafted nodes"));
  }
  BANYAN_RETURN_IF_ERROR(CheckLimit("levels", options.levels));
  return CheckLimit("width", options.width);
}

std::vector<double> UsableAcceptance(const SequoiaOptions& options) {
  std::vector<double> usable = options.acceptance;
  auto most = static_cast<std::size_t>(options.nodes);
  if (options.width > 0) {
    most = std::min(most, static_cast<std::size_t>(options.width));
  }
  usable.resize(std::min(usable.size(), most));
  return usable;
}

absl::StatusOr<RatedShape> BestTree(const SequoiaOptions& options) {
  BANYAN_RETURN_IF_ERROR(CheckOptions(options));
  std::vector<double> acceptance = UsableAcceptance(options);
  // A limit that even a chain cannot reach is none.
  const bool limited = options.levels > 0 && options.levels < options.nodes;
  const int nodes = options.nodes + 1;
  BANYAN_RETURN_IF_ERROR(SequoiaTable::CheckSize(nodes, acceptance.size(),
                                                 limited ? options.levels : 1));
  SequoiaTable table(std::move(acceptance), nodes);
  int depth = SequoiaTable::kUnlimited;
  if (limited) {
    while (table.depth() < options.levels && !table.settled()) table.Deepen();
    depth = table.depth();
  } else {
    table.AddUnlimited();
  }
  int best = 1;
  for (int n = 2; n <= nodes; ++n) {
    if (table.Best(n, depth) > table.Best(best, depth)) best = n;
  }
  const double value = table.Best(best, depth);
  while (depth > 0 && table.Best(best, depth - 1) == value) --depth;
  return RatedShape{table.Tree(best, depth), value};
}

}  // namespace banyan
