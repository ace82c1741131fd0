#include "experiments/single/scoring.h"

#include <cstddef>
#include <memory>
#include <numeric>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "core/base/status_macros.h"
#include "core/base/token.h"
#include "core/model/model.h"
#include "core/prob/logits.h"

namespace banyan {
namespace {

// A text is scored in pieces: enough rows to share a reading of the weights,
// few enough that their logits need no more memory than the weights.
constexpr std::size_t kPiece = 128;

TokenScore ScoreToken(absl::Span<const double> logits, TokenId token) {
  const auto index = static_cast<std::size_t>(token);
  TokenScore score = {.log_probability = logits[index] - LogSumExp(logits),
                      .rank = 1};
  for (std::size_t i = 0; i < logits.size(); ++i)
    if (logits[i] > logits[index] || (logits[i] == logits[index] && i < index))
      ++score.rank;
  return score;
}

}  // namespace

absl::StatusOr<TextScores> ScoreText(const Model& model,
                                     absl::Span<const TokenId> tokens) {
  if (tokens.empty()) return absl::InvalidArgumentError("the text is empty");
  if (tokens.size() > static_cast<std::size_t>(model.context_limit()))
    return absl::OutOfRangeError(absl::StrCat("the text has ", tokens.size(),
                                              " tokens, the context holds ",
                                              model.context_limit()));
  TextScores result;
  const std::unique_ptr<Session> session = model.NewSession();
  for (std::size_t first = 0; first < tokens.size(); first += kPiece) {
    const absl::Span<const TokenId> piece = tokens.subspan(first, kPiece);
    const TokenBatch batch = TokenBatch::Chain(piece, static_cast<int>(first));
    BANYAN_ASSIGN_OR_RETURN(const std::unique_ptr<Scores> scores,
                            ScoreOne(model, *session, batch));
    for (std::size_t i = 0; i < piece.size(); ++i) {
      BANYAN_RETURN_IF_ERROR(
          scores->Read(static_cast<int>(i), result.last_logits));
      BANYAN_RETURN_IF_ERROR(CheckLogits(result.last_logits));
      if (first + i + 1 < tokens.size())
        result.tokens.push_back(
            ScoreToken(result.last_logits, tokens[first + i + 1]));
    }
    std::vector<int> path(piece.size());
    std::iota(path.begin(), path.end(), 0);
    BANYAN_RETURN_IF_ERROR(session->Commit(path));
  }
  return result;
}

}  // namespace banyan
