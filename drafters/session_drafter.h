// SessionDrafter: a drafter that asks a model by a session of its own, in which
// the nodes of the tree under way are pending rows: all open nodes of a level
// are scored in one pass, for all sequences at once.
//
// What the session has not read of the committed text (after a refusal, beside
// other trunks, behind a chain accepted whole) it reads in the pass of the next
// root, so its cache has no holes.
//
// Proposals are its sampling rule's laws. To rank candidates at temperature 0,
// where that law knows one token only, it takes the masses of temperature 1.
#ifndef BANYAN_DRAFTERS_SESSION_DRAFTER_H_
#define BANYAN_DRAFTERS_SESSION_DRAFTER_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/token.h"
#include "core/model/context.h"
#include "core/model/model.h"
#include "core/prob/distribution.h"
#include "core/prob/sampling_rule.h"
#include "drafters/drafter.h"
#include "drafters/pending_tree.h"
#include "tree/draft_tree.h"
#include "tree/trunk_tree.h"

namespace banyan {

// So many unread tokens are read with the root. Every row of that pass gives
// logits, which is more work than another pass once there are many.
inline constexpr std::size_t kReadWithRoot = 4;

class SessionDrafter : public Drafter {
 public:
  std::vector<DraftLaw> laws() const override;
  int longest_text() const override { return model_->context_limit(); }
  bool proposes_ahead() const override { return true; }
  absl::StatusOr<std::vector<Distribution>> Propose(
      const Context& context, const TrunkTree& tree,
      absl::Span<const int> nodes) override {
    return ProposeAlone(context, tree, nodes);
  }
  absl::StatusOr<std::vector<std::vector<Distribution>>> ProposeAll(
      absl::Span<const DraftRequest> requests) override;
  void Resume(const Context& /*context*/) override { pending_.Clear(); }

  const std::shared_ptr<const Model>& model() const { return model_; }
  const SamplingRule& rule() const { return rule_; }

 protected:
  SessionDrafter(std::shared_ptr<const Model> model, SamplingRule rule);

  // The rule of proposals that are drawn from by this law.
  const SamplingRule& RuleOf(DraftLaw law) const {
    return law == DraftLaw::kDeterministic ? ranking_ : rule_;
  }
  Session& session() const { return *session_; }
  // A session of the model, for a new prompt.
  void SetSession(std::unique_ptr<Session> session);
  PendingTree& pending() { return pending_; }
  const PendingTree& pending() const { return pending_; }
  // The committed text that the session has not read, the root aside.
  absl::Span<const TokenId> Unread(const Context& context) const;
  // What was computed of the rows of these nodes, which are all that is asked
  // for.
  virtual DoneRows DoneFor(absl::Span<const int> /*nodes*/) const { return {}; }

 private:
  absl::StatusOr<TokenBatch> BatchOf(const DraftRequest& request);
  absl::Status StartRound(const Context& context);
  absl::StatusOr<std::vector<Distribution>> LawsOf(const DraftRequest& request,
                                                   const TokenBatch& batch,
                                                   const Scores& scores);

  std::shared_ptr<const Model> model_;
  SamplingRule rule_;
  SamplingRule ranking_;  // for deterministic draws
  std::unique_ptr<Session> session_;
  PendingTree pending_;
};

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_SESSION_DRAFTER_H_
