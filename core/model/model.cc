#include "core/model/model.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/status_macros.h"
#include "core/base/token.h"

namespace banyan {

absl::StatusOr<std::unique_ptr<Scores>> ScoreOne(const Model& model,
                                                 Session& session,
                                                 const TokenBatch& batch) {
  const ScoreRequest request = {&session, &batch};
  BANYAN_ASSIGN_OR_RETURN(std::vector<std::unique_ptr<Scores>> scores,
                          model.Score({&request, 1}));
  return std::move(scores.front());
}

}  // namespace banyan
