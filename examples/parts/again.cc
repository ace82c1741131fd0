// Drafts the last token once more with probability `share`, and any other
// alike.
#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "core/base/common.h"
#include "core/base/params.h"
#include "core/prob/distribution.h"
#include "drafters/drafter.h"
#include "drafters/row.h"
#include "drafters/workbench.h"
#include "tree/trunk_tree.h"

namespace {

class Again : public banyan::Drafter {
 public:
  Again(int vocab_size, double share)
      : Drafter({.draw_kinds = banyan::EveryDrawKind()}, /*carried=*/nullptr),
        size_(static_cast<std::size_t>(vocab_size)),
        share_(share) {}

  std::unique_ptr<banyan::DraftSession> NewSession() const override {
    return std::make_unique<banyan::BlankSession>();
  }

  absl::StatusOr<std::vector<banyan::Proposals>> Propose(
      absl::Span<const banyan::DraftRequest> requests) override {
    std::vector<banyan::Proposals> all;
    for (const banyan::DraftRequest& request : requests) {
      banyan::Proposals proposals;
      for (const int node : request.nodes)
        proposals.push_back({After(request.tree->node(node).token)});
      all.push_back(std::move(proposals));
    }
    return all;
  }

 private:
  banyan::Distribution After(banyan::TokenId last) const {
    std::vector<double> masses(size_, (1 - share_) / size_);
    masses[static_cast<std::size_t>(last)] += share_;
    return banyan::Distribution::Dense(std::move(masses));
  }

  std::size_t size_;
  double share_;
};

banyan::BuiltDrafter Build(banyan::ParamsReader& in, double share,
                           banyan::Workbench& bench) {
  in.Ensure(share > 0 && share < 1, "share", "must lie in (0, 1)");
  BANYAN_RETURN_IF_ERROR(in.Finish());
  return std::make_unique<Again>(bench.target().vocab_size(), share);
}

}  // namespace

banyan::DrafterRow AgainRow() {
  banyan::Keys<double> keys(0.5);
  keys.Optional("share", std::identity(), "Probability of the last token.");
  return {.name = "again",
          .sentence = "The last token once more.",
          .draw_kinds = banyan::EveryDrawKind(),
          .keys = keys.Rows(),
          .build = keys.ReadFor(Build),
          .examples = {"{}", "{share: 0.9}"}};
}
