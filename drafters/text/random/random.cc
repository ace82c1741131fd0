// Drafting at random, uniformly over the vocabulary: a control. What a method
// gives with it is what its trees cost; what a drafter is worth is what it
// gives beyond that.
#include <cstddef>
#include <memory>
#include <vector>

#include "core/base/common.h"
#include "core/base/params.h"
#include "core/prob/distribution.h"
#include "drafters/drafter.h"
#include "drafters/rows.h"
#include "drafters/workbench.h"
#include "tree/draft_tree.h"
#include "tree/trunk_tree.h"

namespace banyan {

class Random : public Drafter {
 public:
  explicit Random(int vocab_size);

  std::unique_ptr<DraftSession> NewSession() const override {
    return std::make_unique<BlankSession>();
  }
  absl::StatusOr<std::vector<Proposals>> Propose(
      absl::Span<const DraftRequest> requests) override;

 private:
  Distribution uniform_;
};

Random::Random(int vocab_size)
    : Drafter({.draw_kinds = EveryDrawKind(), .proposes_ahead = true},
              /*carried=*/nullptr),
      uniform_(Distribution::Dense(std::vector<double>(
          static_cast<std::size_t>(vocab_size), 1.0 / vocab_size))) {}

absl::StatusOr<std::vector<Proposals>> Random::Propose(
    absl::Span<const DraftRequest> requests) {
  std::vector<Proposals> all;
  for (const DraftRequest& request : requests)
    all.emplace_back(request.nodes.size(), Proposal{uniform_});
  return all;
}

namespace {

BuiltDrafter BuildRandom(ParamsReader& in, Workbench& bench) {
  BANYAN_RETURN_IF_ERROR(in.Finish());
  return std::make_unique<Random>(bench.target().vocab_size());
}

}  // namespace

DrafterRow RandomRow() {
  return {.name = "random",
          .sentence = "Uniformly random tokens, as a control.",
          .draw_kinds = EveryDrawKind(),
          .build = BuildRandom,
          .examples = {"{}"}};
}

}  // namespace banyan
