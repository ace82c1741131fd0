// TransformerSession: a sequence of a transformer, for those who know models
// alone.
#ifndef BANYAN_CORE_TRANSFORMER_SESSION_H_
#define BANYAN_CORE_TRANSFORMER_SESSION_H_

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/token.h"
#include "core/model/model.h"
#include "core/transformer/sequence.h"

namespace banyan {

class TransformerSession : public Session {
 public:
  explicit TransformerSession(TransformerSequence sequence)
      : sequence_(std::move(sequence)) {}

  int length() const override { return sequence_.length(); }
  int pending() const override { return sequence_.pending(); }
  using Session::Prefill;
  absl::Status Prefill(absl::Span<const TokenId> tokens,
                       absl::Span<const int> taps, FeatureSink sink) override;
  absl::Status Commit(absl::Span<const int> path) override {
    return sequence_.Commit(path);
  }
  absl::StatusOr<std::unique_ptr<Session>> View(
      const ViewOptions& options) override;

 private:
  friend TransformerSequence* SequenceOf(Session* session);

  // Scores and commits one piece of a text.
  absl::Status PrefillPiece(absl::Span<const TokenId> tokens,
                            absl::Span<const int> taps, FeatureSink sink);

  TransformerSequence sequence_;
};

// The sequence of a session; null if it is none of a transformer.
TransformerSequence* SequenceOf(Session* session);

}  // namespace banyan

#endif  // BANYAN_CORE_TRANSFORMER_SESSION_H_
