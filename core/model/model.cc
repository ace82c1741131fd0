#include "core/model/model.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/check.h"
#include "core/base/status_macros.h"
#include "core/base/token.h"

namespace banyan {

absl::StatusOr<std::unique_ptr<Session>> Session::View(
    absl::Span<const int> /*layers*/) {
  return absl::UnimplementedError("this model has no layers to choose from");
}

absl::Span<const float> Scores::Hidden(int /*tap*/, int /*row*/) const {
  Check(false, "hidden states that were not asked for");
  return {};
}

absl::StatusOr<std::unique_ptr<Scores>> ScoreOne(const Model& model,
                                                 Session& session,
                                                 const TokenBatch& batch) {
  const ScoreRequest request = {&session, &batch};
  BANYAN_ASSIGN_OR_RETURN(std::vector<std::unique_ptr<Scores>> scores,
                          model.Score({&request, 1}));
  return std::move(scores.front());
}

}  // namespace banyan
