#include "drafters/heads/agreement.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/status_macros.h"
#include "core/base/token.h"
#include "core/model/model.h"
#include "core/prob/distribution.h"
#include "core/prob/sampling_rule.h"

namespace banyan {

void Agreement::Count(const Distribution& target, const Distribution& draft) {
  overlap_ += Overlap(target, draft);
  same_ += target.Argmax() == draft.Argmax() ? 1 : 0;
  ++places_;
}

absl::StatusOr<std::vector<Distribution>> LawsAfter(
    const Model& model, const std::vector<TokenId>& tokens) {
  const std::unique_ptr<Session> session = model.NewSession();
  const TokenBatch batch = TokenBatch::Chain(tokens, 0);
  BANYAN_ASSIGN_OR_RETURN(const auto scores, ScoreOne(model, *session, batch));
  std::vector<Distribution> laws;
  for (int row = 0; row < batch.size(); ++row) {
    BANYAN_ASSIGN_OR_RETURN(Distribution law,
                            scores->Law(row, SamplingRule(), {}, {}));
    laws.push_back(std::move(law));
  }
  return laws;
}

}  // namespace banyan
