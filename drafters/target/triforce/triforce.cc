#include "drafters/target/triforce/triforce.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/params.h"
#include "core/base/status_macros.h"
#include "core/model/context.h"
#include "core/model/model.h"
#include "core/prob/sampling_rule.h"
#include "drafters/drafter.h"
#include "drafters/target/view_drafter.h"
#include "drafters/workbench.h"
#include "tree/verdict.h"

namespace banyan {
namespace {

ViewOptions ViewOf(const SeenText& seen, int layers) {
  std::vector<int> all(static_cast<std::size_t>(layers));
  std::iota(all.begin(), all.end(), 0);
  ViewOptions options = ViewOptions::Layers(all);
  options.seen = seen;
  return options;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Drafter>> Triforce::Build(ParamsReader& in,
                                                         Workbench& bench) {
  SeenText seen = {.first = 16, .latest = 256, .chunks = 0, .chunk = 16};
  int choose_every = 0;
  in.Optional("first", seen.first);
  in.Optional("latest", seen.latest);
  in.Optional("chunks", seen.chunks);
  in.Optional("chunk", seen.chunk);
  in.Optional("choose_every", choose_every);
  in.Ensure(seen.first >= 0, "first", "expected at least 0");
  in.Ensure(seen.latest >= 1, "latest", "expected at least 1");
  in.Ensure(seen.chunks >= 0, "chunks", "expected at least 0");
  in.Ensure(seen.chunk >= 1, "chunk", "expected at least 1");
  in.Ensure(choose_every >= 0, "choose_every", "expected at least 0");
  BANYAN_ASSIGN_OR_RETURN(SamplingRule rule, bench.TakeRule(in));
  BANYAN_RETURN_IF_ERROR(in.Finish());
  seen = Within(bench.target().context_limit(), seen);
  BANYAN_RETURN_IF_ERROR(
      CheckView(in.section(), bench, ViewOf(seen, bench.target().layers())));
  return std::make_unique<Triforce>(bench.shared_target(), seen, choose_every,
                                    std::move(rule));
}

SeenText Triforce::Within(int limit, SeenText seen) {
  seen.first = std::min(seen.first, limit);
  seen.latest = std::min(seen.latest, limit);
  seen.chunk = std::min(seen.chunk, limit);
  seen.chunks = std::min(seen.chunks, limit / seen.chunk + 1);
  return seen;
}

Triforce::Triforce(std::shared_ptr<const Model> target, const SeenText& seen,
                   int choose_every, SamplingRule rule)
    : ViewDrafter(target, ViewOf(seen, target->layers()), std::move(rule)),
      choose_every_(choose_every) {}

std::unique_ptr<Drafter> Triforce::Clone() const {
  return std::make_unique<Triforce>(model(), options().seen, choose_every_,
                                    rule());
}

absl::Status Triforce::TakeViews(Session& target) {
  target_ = &target;
  chosen_at_ = target.length();
  return ViewDrafter::TakeViews(target);
}

absl::Status Triforce::Observe(const Context& context,
                               const RoundOutcome& outcome) {
  BANYAN_RETURN_IF_ERROR(ViewDrafter::Observe(context, outcome));
  const bool due = choose_every_ > 0 && options().seen.chunks > 0 &&
                   target_->length() - chosen_at_ >= choose_every_;
  return due ? TakeViews(*target_) : absl::OkStatus();
}

}  // namespace banyan
