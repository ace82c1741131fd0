#include "drafters/models/small_model/small_model.h"

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
#include "core/prob/sampling_rule.h"
#include "core/transformer/device_drafter.h"
#include "core/transformer/session.h"
#include "drafters/drafter.h"
#include "drafters/session_drafter.h"
#include "drafters/workbench.h"
#include "tree/draft_tree.h"
#include "tree/verdict.h"

namespace banyan {

absl::StatusOr<std::unique_ptr<Drafter>> SmallModel::Build(ParamsReader& in,
                                                           Workbench& bench) {
  Params name;
  in.Required("model", name);
  BANYAN_ASSIGN_OR_RETURN(SamplingRule rule, bench.TakeRule(in));
  BANYAN_RETURN_IF_ERROR(in.Finish());
  BANYAN_ASSIGN_OR_RETURN(std::shared_ptr<const Model> model, bench.Open(name));
  return std::make_unique<SmallModel>(std::move(model), std::move(rule));
}

SmallModel::SmallModel(std::shared_ptr<const Model> model, SamplingRule rule)
    : SessionDrafter(std::move(model), std::move(rule)) {}

std::unique_ptr<Drafter> SmallModel::Clone() const {
  return std::make_unique<SmallModel>(model(), rule());
}

absl::Status SmallModel::Begin(const Context& context) {
  SetSession(model()->NewSession());
  if (context.tokens.size() > static_cast<std::size_t>(longest_text()))
    return absl::OkStatus();  // and nothing will be asked
  return session().Prefill(
      absl::MakeConstSpan(context.tokens).first(context.tokens.size() - 1));
}

absl::StatusOr<DrafterTwin> SmallModel::OnDevice(DraftLaw law) {
  auto* own = dynamic_cast<TransformerSession*>(&session());
  if (own == nullptr) return DrafterTwin();
  return DrafterTwin{NewModelDrafter(*own), RuleOf(law)};
}

absl::Status SmallModel::Observe(const Context& context,
                                 const RoundOutcome& /*outcome*/) {
  if (session().pending() == 0) pending().Clear();  // of an abandoned round
  // The root of the next round stays out: it is scored with its tree.
  const std::vector<int> path = pending().PathOf(Unread(context));
  pending().Clear();
  return session().Commit(path);
}

}  // namespace banyan
