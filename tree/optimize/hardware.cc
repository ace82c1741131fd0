#include "tree/optimize/hardware.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/check.h"
#include "core/base/common.h"
#include "tree/optimize/cost_curve.h"
#include "tree/optimize/sequoia.h"
#include "tree/optimize/sequoia_table.h"
#include "tree/optimize/shape.h"

namespace banyan {
namespace {

// Per drafted level: the tokens of the pass that drafts it.
std::vector<int> PassWidths(const Shape& shape) {
  const std::vector<int> depths = Depths(shape);
  std::vector<int> widths(static_cast<std::size_t>(Height(shape)));
  for (std::size_t node = 1; node < depths.size(); ++node) {
    // In depth-first order only a first child follows its parent at once.
    if (shape.parents[node] == static_cast<int>(node) - 1) {
      ++widths[static_cast<std::size_t>(depths[node]) - 1];
    }
  }
  return widths;
}

// A tree by its size, the root included, and its depth.
struct Candidate {
  int nodes = 1;
  int depth = 0;
  double round_ms = 0;
  double speed = 0;
};

class Search {
 public:
  Search(const HardwareOptions& options, std::vector<double> target_ms);

  absl::StatusOr<HardwareChoice> Run();

 private:
  // The drafting time of a tree. Passes that the curve does not cover are
  // counted at its cheapest and reported in `missing`.
  double DraftMs(const Candidate& tree, absl::Status& missing) const;
  double Expected(int nodes, int depth) const {
    return table_.Best(nodes, depth);
  }
  double TargetMs(int nodes) const {
    return target_ms_[static_cast<std::size_t>(nodes)];
  }
  bool DeeperMayWin() const;
  void ConsiderDepth(int depth);
  void Consider(Candidate tree);
  HardwareChoice Best() const;

  const CostCurve* draft_curve_;  // null: cheapest_ a level
  int sequences_;
  double cheapest_;                // no level is drafted in less
  std::vector<double> target_ms_;  // by nodes
  int nodes_;
  int max_depth_;
  std::size_t ranks_;
  SequoiaTable table_;
  Candidate best_;
  // The largest speed that a tree might have which the draft curve does not
  // cover, and why it does not.
  double uncovered_speed_ = 0;
  absl::Status uncovered_;
};

Search::Search(const HardwareOptions& options, std::vector<double> target_ms)
    : draft_curve_(std::get_if<CostCurve>(&options.draft_ms)),
      sequences_(options.sequences),
      cheapest_(draft_curve_ != nullptr ? draft_curve_->cheapest()
                                        : std::get<double>(options.draft_ms)),
      target_ms_(std::move(target_ms)),
      nodes_(options.limits.nodes + 1),
      max_depth_(options.limits.levels > 0
                     ? std::min(options.limits.levels, options.limits.nodes)
                     : options.limits.nodes),
      ranks_(UsableAcceptance(options.limits).size()),
      table_(UsableAcceptance(options.limits), nodes_) {
  best_.round_ms = TargetMs(1);
  best_.speed = 1 / best_.round_ms;
}

double Search::DraftMs(const Candidate& tree, absl::Status& missing) const {
  if (draft_curve_ == nullptr) return tree.depth * cheapest_;
  double sum = 0;
  for (const int width : PassWidths(table_.Tree(tree.nodes, tree.depth))) {
    const absl::StatusOr<double> ms = draft_curve_->At(sequences_ * width);
    if (!ms.ok()) missing.Update(ms.status());
    sum += ms.value_or(cheapest_);
  }
  return sum;
}

// Whether a tree deeper than the table may be as fast as the best.
bool Search::DeeperMayWin() const {
  if (table_.settled()) return false;
  const int depth = table_.depth();
  for (int n = 2; n <= nodes_; ++n) {
    const double most = Expected(n, SequoiaTable::kUnlimited);
    const double least_ms = (depth + 1) * cheapest_ + TargetMs(n);
    if (most > Expected(n, depth) && most / least_ms >= best_.speed)
      return true;
  }
  return false;
}

void Search::ConsiderDepth(int depth) {
  for (int n = 2; n <= nodes_; ++n) {
    // Otherwise a tree tried before yields as much.
    if (Expected(n, depth) > Expected(n, depth - 1)) Consider({n, depth});
  }
}

void Search::Consider(Candidate tree) {
  const double expected = Expected(tree.nodes, tree.depth);
  const double target_ms = TargetMs(tree.nodes);
  if (expected / (tree.depth * cheapest_ + target_ms) < best_.speed) return;
  absl::Status missing;
  tree.round_ms = DraftMs(tree, missing) + target_ms;
  tree.speed = expected / tree.round_ms;
  if (!missing.ok()) {
    if (tree.speed > uncovered_speed_) {
      uncovered_speed_ = tree.speed;
      uncovered_ = missing;
    }
    return;
  }
  if (tree.speed > best_.speed ||
      (tree.speed == best_.speed && tree.nodes < best_.nodes)) {
    best_ = tree;
  }
}

HardwareChoice Search::Best() const {
  HardwareChoice choice;
  choice.shape = table_.Tree(best_.nodes, best_.depth);
  choice.nodes = best_.nodes - 1;
  choice.levels = best_.depth;
  choice.expected_tokens = Expected(best_.nodes, best_.depth);
  choice.round_ms = best_.round_ms;
  choice.tokens_per_ms = best_.speed;
  choice.speedup = best_.speed * TargetMs(1);
  return choice;
}

absl::StatusOr<HardwareChoice> Search::Run() {
  BANYAN_RETURN_IF_ERROR(SequoiaTable::CheckSize(nodes_, ranks_, 1));
  table_.AddUnlimited();
  while (table_.depth() < max_depth_ && DeeperMayWin()) {
    // Counting the layer to come and the one without a limit.
    BANYAN_RETURN_IF_ERROR(
        SequoiaTable::CheckSize(nodes_, ranks_, table_.depth() + 2));
    table_.Deepen();
    ConsiderDepth(table_.depth());
  }
  if (uncovered_speed_ > best_.speed) return uncovered_;
  return Best();
}

absl::Status CheckDraft(const std::variant<double, CostCurve>& draft_ms,
                        int sequences) {
  if (const double* ms = std::get_if<double>(&draft_ms)) {
    if (*ms >= 0 && std::isfinite(*ms)) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        "draft_ms is ", *ms, "; expected milliseconds a level, 0 or more"));
  }
  return std::get<CostCurve>(draft_ms).At(sequences).status();
}

}  // namespace

absl::StatusOr<HardwareChoice> FastestTree(const HardwareOptions& options) {
  Check(options.sequences >= 1, "a pass has a sequence");
  BANYAN_RETURN_IF_ERROR(CheckOptions(options.limits));
  BANYAN_RETURN_IF_ERROR(CheckDraft(options.draft_ms, options.sequences));
  std::vector<double> target_ms = {0};  // a pass has at least the root
  for (int tokens = options.limits.nodes + 1; tokens >= 1; --tokens) {
    BANYAN_ASSIGN_OR_RETURN(const double ms,
                            options.target_ms.At(options.sequences * tokens));
    target_ms.push_back(ms);
  }
  std::reverse(target_ms.begin() + 1, target_ms.end());
  return Search(options, std::move(target_ms)).Run();
}

}  // namespace banyan
