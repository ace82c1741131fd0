// InnerSession: the session of one part of a composed drafter, asked about a
// tree of its own.
//
// The composed drafter may ask a part for more nodes than were drawn (guesses),
// for fewer, or by another draw kind. So the part's tree is not the one under
// way: it has its root and grows by what is asked for. Nodes are found by their
// paths; tokens that nobody drew are probes there. Each node is asked for once
// a drafting.
#ifndef BANYAN_DRAFTERS_COMPOSED_INNER_SESSION_H_
#define BANYAN_DRAFTERS_COMPOSED_INNER_SESSION_H_

#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "core/base/token.h"
#include "core/model/context.h"
#include "core/prob/distribution.h"
#include "drafters/drafter.h"
#include "tree/draft_tree.h"
#include "tree/trunk_tree.h"

namespace banyan {

class InnerSession {
 public:
  // What may follow these nodes of the part's tree?
  struct Question {
    InnerSession* part;
    const Context* context;
    std::vector<int> nodes;
  };
  // Has all these nodes answered, and their ancestors before them: in one pass
  // of drafters that propose ahead, else in one a level. No pass where all is
  // answered. Requires that the parts are of one drafter, and that they reach
  // the nodes.
  static absl::Status AskAll(absl::Span<const Question> questions);

  explicit InnerSession(Drafter& drafter)
      : drafter_(&drafter),
        session_(drafter.NewSession()),
        tree_(0, 0, DrawKind::kDeterministic) {}

  const Drafter& drafter() const { return *drafter_; }
  DraftSession& session() const { return *session_; }
  // Whether a node of this depth may be asked for after the committed text.
  bool Reaches(const Context& context, int depth) const;

  // Begins a drafting: a bare root, with the draw kind `law` below it. All else
  // is forgotten.
  void Start(const TrunkTree& of, DrawKind draw_kind);
  const TrunkTree& tree() const { return tree_; }
  // The node with the path of `node` in `of`, and a node's child with this
  // token. Either is made where it is not there.
  int Find(const TrunkTree& of, int node);
  int Child(int node, TokenId token);
  // What the drafter proposed there in this drafting; null: it was not asked.
  const Proposal* answer(int node) const;

 private:
  std::vector<int> NextOf(absl::Span<const int> nodes) const;
  void Take(absl::Span<const int> nodes, Proposals answers);

  Drafter* drafter_;
  std::unique_ptr<DraftSession> session_;
  TrunkTree tree_;
  std::vector<std::optional<Proposal>> answers_;  // by node
};

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_COMPOSED_INNER_SESSION_H_
