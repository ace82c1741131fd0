#include "drafters/session_drafter.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/status_macros.h"
#include "core/base/token.h"
#include "core/model/context.h"
#include "core/model/model.h"
#include "core/prob/distribution.h"
#include "core/prob/sampling_rule.h"
#include "drafters/drafter.h"
#include "drafters/pending_tree.h"
#include "tree/derive.h"
#include "tree/draft_tree.h"
#include "tree/trunk_tree.h"

namespace banyan {

SessionDrafter::SessionDrafter(std::shared_ptr<const Model> model,
                               SamplingRule rule)
    : Drafter({.draw_kinds = EveryDrawKind(),
               .longest_text = model->context_limit(),
               .proposes_ahead = true},
              /*carried=*/nullptr),
      model_(std::move(model)),
      rules_(std::move(rule)) {}

absl::StatusOr<std::vector<Proposals>> SessionDrafter::Propose(
    absl::Span<const DraftRequest> requests) {
  std::vector<TokenBatch> batches(requests.size());
  std::vector<ScoreRequest> asked;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    auto& own = SessionOf<ModelSession>(requests[i]);
    BANYAN_ASSIGN_OR_RETURN(batches[i], own.BatchOf(requests[i]));
    asked.push_back({.session = &own.session(),
                     .batch = &batches[i],
                     .logits_from = batches[i].size() -
                                    static_cast<int>(requests[i].nodes.size()),
                     .done = own.DoneFor(requests[i].nodes)});
  }
  BANYAN_ASSIGN_OR_RETURN(const auto scores, model_->Score(asked));
  std::vector<Proposals> all;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    BANYAN_ASSIGN_OR_RETURN(Proposals laws,
                            LawsOf(requests[i], batches[i], *scores[i]));
    all.push_back(std::move(laws));
  }
  return all;
}

// The distributions after the nodes of a batch that was scored; the last rows
// are theirs.
absl::StatusOr<Proposals> SessionDrafter::LawsOf(const DraftRequest& request,
                                                 const TokenBatch& batch,
                                                 const Scores& scores) const {
  const TrunkTree& tree = *request.tree;
  const int before = batch.size() - static_cast<int>(request.nodes.size());
  SessionOf<ModelSession>(request).pending().Scored(batch, request.nodes);
  Proposals laws;
  for (std::size_t i = 0; i < request.nodes.size(); ++i) {
    BANYAN_ASSIGN_OR_RETURN(
        Distribution law,
        scores.Law(before + static_cast<int>(i), rules_.Of(tree.draw_kind()),
                   request.context->tokens, TokensTo(tree, request.nodes[i])));
    laws.push_back({std::move(law)});
  }
  return laws;
}

void ModelSession::SetSession(std::unique_ptr<Session> session) {
  session_ = std::move(session);
  pending_.Clear();
}

// The nodes' tokens, below the rows of their parents; at the root, after what
// of the committed text was not read yet.
absl::StatusOr<TokenBatch> ModelSession::BatchOf(const DraftRequest& request) {
  TokenBatch batch;
  if (request.nodes.front() == 0) {  // a drafting begins
    BANYAN_RETURN_IF_ERROR(StartRound(*request.context));
    batch = TokenBatch::Chain(Unread(*request.context), session_->length());
  }
  pending_.AddTo(batch, *request.tree, request.nodes,
                 static_cast<int>(request.context->tokens.size()) - 1);
  return batch;
}

absl::Span<const TokenId> ModelSession::Unread(const Context& context) const {
  const absl::Span<const TokenId> text =
      absl::MakeConstSpan(context.tokens).first(context.tokens.size() - 1);
  // A device's round may have read what a stop rule then cut.
  return text.subspan(
      std::min(text.size(), static_cast<std::size_t>(session_->length())));
}

// Drops what an abandoned round left, and reads what is long unread.
absl::Status ModelSession::StartRound(const Context& context) {
  BANYAN_RETURN_IF_ERROR(session_->Commit({}));
  pending_.Clear();
  const absl::Span<const TokenId> unread = Unread(context);
  return unread.size() > kReadWithRoot ? session_->Prefill(unread)
                                       : absl::OkStatus();
}

}  // namespace banyan
