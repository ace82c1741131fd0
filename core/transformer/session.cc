#include "core/transformer/session.h"

#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/status_macros.h"
#include "core/base/token.h"
#include "core/model/model.h"
#include "core/transformer/pass_input.h"
#include "core/transformer/score_batches.h"
#include "core/transformer/sequence.h"

namespace banyan {
namespace {

// A prompt is read in pieces: enough rows to share a reading of the weights,
// few enough that a pass's own numbers stay small.
constexpr int kPrefillRows = 256;

}  // namespace

absl::StatusOr<std::unique_ptr<Session>> TransformerSession::View(
    const ViewOptions& options) {
  BANYAN_ASSIGN_OR_RETURN(TransformerSequence view, sequence_.View(options));
  return std::make_unique<TransformerSession>(std::move(view));
}

absl::Status TransformerSession::PrefillPiece(absl::Span<const TokenId> tokens,
                                              absl::Span<const int> taps,
                                              FeatureSink sink) {
  const TokenBatch batch = TokenBatch::Chain(tokens, length());
  std::vector<int> path(tokens.size());
  std::iota(path.begin(), path.end(), 0);
  const ScoreRequest request = {
      this, &batch, {taps.begin(), taps.end()}, batch.size()};
  const SequenceRequest own = {&request, &sequence_};
  BANYAN_ASSIGN_OR_RETURN(const auto scores,
                          ScoreBatches(sequence_.network(), {&own, 1}));
  if (!taps.empty())
    BANYAN_RETURN_IF_ERROR(sink(*scores.front(), batch.size()));
  return Commit(path);
}

absl::Status TransformerSession::Prefill(absl::Span<const TokenId> tokens,
                                         absl::Span<const int> taps,
                                         FeatureSink sink) {
  BANYAN_RETURN_IF_ERROR(sequence_.BeginPrefill(tokens));
  const int before = length();
  while (!tokens.empty()) {
    const absl::Span<const TokenId> piece = tokens.subspan(0, kPrefillRows);
    const absl::Status status = PrefillPiece(piece, taps, sink);
    if (!status.ok()) {  // what an earlier piece committed is forgotten too
      sequence_.CutTo(before);
      return status;
    }
    tokens.remove_prefix(piece.size());
  }
  return absl::OkStatus();
}

TransformerSequence* SequenceOf(Session* session) {
  auto* const own = dynamic_cast<TransformerSession*>(session);
  return own == nullptr ? nullptr : &own->sequence_;
}

}  // namespace banyan
