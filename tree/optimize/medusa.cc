#include "tree/optimize/medusa.h"

#include <cstddef>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/common.h"
#include "tree/optimize/shape.h"

namespace banyan {
namespace {

// A node that may be added: its parent is in the tree, its previous sibling
// too.
struct MedusaCandidate {
  double product = 0;
  double parent_product = 1;
  std::vector<int> path;  // child ranks from 0
};

// "Comes later", as std::priority_queue wants it.
struct Later {
  bool operator()(const MedusaCandidate& a, const MedusaCandidate& b) const {
    if (a.product != b.product) return a.product < b.product;
    return std::forward_as_tuple(a.path.size(), a.path) >
           std::forward_as_tuple(b.path.size(), b.path);
  }
};

class Frontier {
 public:
  explicit Frontier(const std::vector<std::vector<double>>& accuracies)
      : accuracies_(accuracies) {
    Add({0}, 1);
  }

  bool empty() const { return queue_.empty(); }
  // Takes the best and puts its first child and its next sibling in.
  MedusaCandidate Take() {
    MedusaCandidate best = queue_.top();
    queue_.pop();
    std::vector<int> sibling = best.path;
    ++sibling.back();
    Add(std::move(sibling), best.parent_product);
    std::vector<int> child = best.path;
    child.push_back(0);
    Add(std::move(child), best.product);
    return best;
  }

 private:
  // No candidate if there is no such head or rank.
  void Add(std::vector<int> path, double parent_product) {
    const std::size_t head = path.size() - 1;
    const auto rank = static_cast<std::size_t>(path.back());
    if (head >= accuracies_.size() || rank >= accuracies_[head].size()) return;
    queue_.push({parent_product * accuracies_[head][rank], parent_product,
                 std::move(path)});
  }

  const std::vector<std::vector<double>>& accuracies_;
  std::priority_queue<MedusaCandidate, std::vector<MedusaCandidate>, Later>
      queue_;
};

absl::Status CheckOptions(const MedusaOptions& options) {
  if (options.nodes < 0 || options.nodes > MedusaOptions::kMaxNodes) {
    return absl::InvalidArgumentError(
        absl::StrCat("nodes is ", options.nodes, "; expected 0 to ",
                     MedusaOptions::kMaxNodes, " drafted nodes"));
  }
  if (options.accuracies.empty()) {
    return absl::InvalidArgumentError(
        "accuracies is empty; expected one list a head");
  }
  for (std::size_t head = 0; head < options.accuracies.size(); ++head) {
    BANYAN_RETURN_IF_ERROR(
        CheckAcceptance(options.accuracies[head],
                        absl::StrCat("accuracies of head ", head + 1)));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<RatedShape> GreedyTree(const MedusaOptions& options) {
  BANYAN_RETURN_IF_ERROR(CheckOptions(options));
  Frontier frontier(options.accuracies);
  std::vector<std::vector<int>> paths;
  double expected_tokens = 1;
  for (int n = 0; n < options.nodes && !frontier.empty(); ++n) {
    MedusaCandidate best = frontier.Take();
    expected_tokens += best.product;
    paths.push_back(std::move(best.path));
  }
  BANYAN_ASSIGN_OR_RETURN(Shape shape, Shape::FromPaths(std::move(paths)));
  return RatedShape{std::move(shape), expected_tokens};
}

}  // namespace banyan
