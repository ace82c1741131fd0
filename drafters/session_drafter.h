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
//
// PendingTree, which maps nodes to those rows, is declared here too.
#ifndef BANYAN_DRAFTERS_SESSION_DRAFTER_H_
#define BANYAN_DRAFTERS_SESSION_DRAFTER_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "core/base/common.h"
#include "core/base/token.h"
#include "core/model/context.h"
#include "core/model/model.h"
#include "core/prob/sampling_rule.h"
#include "drafters/drafter.h"
#include "drafters/propose.h"
#include "tree/draft_tree.h"
#include "tree/trunk_tree.h"

namespace banyan {

// PendingTree: maps nodes of the tree under way to the pending rows of a
// drafter's session.
class PendingTree {
 public:
  void Clear();

  // Adds a row for each of `nodes` to `batch`, below the row of its parent; the
  // root below what the batch holds so far. A node's position is the root's and
  // its depth. Their parents were scored before, or stand before them.
  void AddTo(TokenBatch& batch, const TrunkTree& tree,
             absl::Span<const int> nodes, int root_position) const;
  // The same where `token_of` gives a node's token, which is not the tree's.
  void AddTo(TokenBatch& batch, const TrunkTree& tree,
             absl::Span<const int> nodes, int root_position,
             absl::FunctionRef<TokenId(int node)> token_of) const;
  // `batch`, whose last rows are those of `nodes`, was scored.
  void Scored(const TokenBatch& batch, absl::Span<const int> nodes);

  bool Has(int node) const;
  // The row of a node that was scored.
  int RowOf(int node) const;
  // Returns the rows that spell these tokens after the committed ones, as far
  // as there are any.
  std::vector<int> PathOf(absl::Span<const TokenId> tokens) const;
  // By node of a merged tree, the row that spells its path from the root on;
  // -1: there is none. Requires that the root has the first row.
  std::vector<int> RowsOf(const DraftTree& tree) const;

 private:
  struct Row {
    TokenId token;
    int parent;
  };

  std::vector<Row> rows_;    // the session's pending ones
  std::vector<int> row_of_;  // by node; -1: not scored
};

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
