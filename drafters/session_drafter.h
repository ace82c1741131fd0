// SessionDrafter and ModelSession: the bases of drafters that ask a model by a
// session of its own, in which the nodes of the tree under way are pending
// rows: all open nodes of a level are scored in one pass, for all sequences.
//
// What the session has not read of the committed text (after a refusal, beside
// other trunks, after a chain accepted whole) it reads in the pass of the next
// root, so its cache has no holes.
//
// Proposals are its sampling rule's distributions. To rank candidates at
// temperature 0, where that distribution knows one token only, it takes the
// masses of temperature 1.
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
#include "core/prob/sampling_rule.h"
#include "drafters/draft_rules.h"
#include "drafters/drafter.h"
#include "drafters/pending_tree.h"
#include "tree/draft_tree.h"

namespace banyan {

// Up to this many unread tokens are read with the root. Every row of that pass
// gives logits, which is more work than another pass once there are many.
inline constexpr std::size_t kReadWithRoot = 4;

class SessionDrafter : public Drafter {
 public:
  absl::StatusOr<std::vector<Proposals>> Propose(
      absl::Span<const DraftRequest> requests) override;

  const std::shared_ptr<const Model>& model() const { return model_; }
  const DraftRules& rules() const { return rules_; }

 protected:
  // Sessions are ModelSessions.
  SessionDrafter(std::shared_ptr<const Model> model, SamplingRule rule);

 private:
  absl::StatusOr<Proposals> LawsOf(const DraftRequest& request,
                                   const TokenBatch& batch,
                                   const Scores& scores) const;

  std::shared_ptr<const Model> model_;
  DraftRules rules_;
};

class ModelSession : public QuietSession {
 public:
  Session& session() const { return *session_; }
  PendingTree& pending() { return pending_; }
  const PendingTree& pending() const { return pending_; }

  // The rows to score for a request; those of its nodes are the last.
  absl::StatusOr<TokenBatch> BatchOf(const DraftRequest& request);
  // What was computed of the rows of these nodes, which are all that is asked
  // for.
  virtual DoneRows DoneFor(absl::Span<const int> /*nodes*/) const { return {}; }

 protected:
  using QuietSession::QuietSession;

  void SetSession(std::unique_ptr<Session> session);
  // The committed text that the session has not read, the root aside.
  absl::Span<const TokenId> Unread(const Context& context) const;

 private:
  absl::Status StartRound(const Context& context);

  std::unique_ptr<Session> session_;
  PendingTree pending_;
};

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_SESSION_DRAFTER_H_
