#include "drafters/heads/medusa/medusa.h"

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/params.h"
#include "core/base/status_macros.h"
#include "core/model/context.h"
#include "core/model/model.h"
#include "core/prob/distribution.h"
#include "core/prob/sampling_rule.h"
#include "drafters/drafter.h"
#include "drafters/heads/depth_laws.h"
#include "drafters/heads/medusa/heads.h"
#include "drafters/ranking_rule.h"
#include "drafters/workbench.h"
#include "tree/draft_tree.h"
#include "tree/trunk_tree.h"
#include "tree/verdict.h"

namespace banyan {
namespace {

// Of the token before the root.
absl::Span<const float> LastState(const Context& context) {
  return context.features.At(kAfterFinalNorm, context.features.rows - 1);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Drafter>> Medusa::Build(ParamsReader& in,
                                                       Workbench& bench) {
  Params name;
  in.Required("heads", name);
  BANYAN_ASSIGN_OR_RETURN(SamplingRule rule, bench.TakeRule(in));
  BANYAN_RETURN_IF_ERROR(in.Finish());
  BANYAN_ASSIGN_OR_RETURN(std::shared_ptr<const MedusaHeads> heads,
                          bench.OpenFolder<MedusaHeads>(
                              "heads", name, [&](const std::string& folder) {
                                return LoadMedusaHeads(folder, bench.target());
                              }));
  return std::make_unique<Medusa>(std::move(heads), std::move(rule));
}

Medusa::Medusa(std::shared_ptr<const MedusaHeads> heads, SamplingRule rule)
    : heads_(std::move(heads)),
      rule_(std::move(rule)),
      ranking_(RankingRule(rule_)) {}

std::vector<DraftLaw> Medusa::laws() const {
  return {kEveryLaw.begin(), kEveryLaw.end()};
}

std::vector<int> Medusa::taps() const { return {kAfterFinalNorm}; }

absl::Status Medusa::Begin(const Context& /*context*/) {
  logits_.clear();
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::vector<Distribution>>> Medusa::ProposeAll(
    absl::Span<const DraftRequest> requests) {
  std::vector<Medusa*> unread;
  std::vector<absl::Span<const float>> states;
  for (const DraftRequest& request : requests) {
    auto& own = static_cast<Medusa&>(*request.drafter);
    if (!own.Unread(*request.context)) continue;
    unread.push_back(&own);
    states.push_back(LastState(*request.context));
  }
  if (!unread.empty()) {  // one reading of the heads for all
    std::vector<std::vector<std::vector<double>>> logits;
    BANYAN_RETURN_IF_ERROR(heads_->ScoreAll(states, logits));
    for (std::size_t i = 0; i < unread.size(); ++i)
      unread[i]->logits_ = std::move(logits[i]);
  }
  return Drafter::ProposeAll(requests);
}

absl::StatusOr<std::vector<Distribution>> Medusa::Propose(
    const Context& context, const TrunkTree& tree,
    absl::Span<const int> nodes) {
  if (Unread(context))
    BANYAN_RETURN_IF_ERROR(heads_->Score(LastState(context), logits_));
  const bool ranked = tree.law() == DraftLaw::kDeterministic;
  return DepthLaws(logits_, ranked ? ranking_ : rule_, context.tokens, tree,
                   nodes);
}

absl::StatusOr<DrafterTwin> Medusa::OnDevice(DraftLaw law) {
  DrafterTwin twin = {nullptr,
                      law == DraftLaw::kDeterministic ? ranking_ : rule_,
                      /*keeps_features=*/true};
  BANYAN_ASSIGN_OR_RETURN(twin.part, heads_->OnDevice());
  return twin;
}

absl::Status Medusa::Observe(const Context& /*context*/,
                             const RoundOutcome& /*outcome*/) {
  logits_.clear();
  return absl::OkStatus();
}

}  // namespace banyan
