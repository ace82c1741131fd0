// InnerDrafters and InnerSessions: the drafters that a drafter is made of, and
// a sequence's sessions of them. All follow the text, whichever proposes.
#ifndef BANYAN_DRAFTERS_COMPOSED_INNER_DRAFTERS_H_
#define BANYAN_DRAFTERS_COMPOSED_INNER_DRAFTERS_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/common.h"
#include "core/base/params.h"
#include "core/base/token.h"
#include "core/model/context.h"
#include "core/model/model.h"
#include "core/prob/distribution.h"
#include "drafters/drafter.h"
#include "drafters/workbench.h"
#include "tree/draft_tree.h"
#include "tree/trunk_tree.h"
#include "tree/verdict.h"

namespace banyan {

// InnerSession: the session of one part of a composed drafter, asked about a
// tree of its own.
//
// The composed drafter may ask a part for more nodes than were drawn (guesses),
// for fewer, or by another draw kind. So the part's tree is not the one under
// way: it has its root and grows by what is asked for. Nodes are found by their
// paths; tokens that nobody drew are probes there. Each node is asked for once
// a drafting.
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

class InnerDrafters : public CarriedState {
 public:
  // The drafters of these sections. Refuses two that plant probes, which could
  // not tell theirs apart; fails as Workbench::Build.
  static absl::StatusOr<InnerDrafters> Build(absl::Span<const Params> sections,
                                             Workbench& bench);

  explicit InnerDrafters(std::vector<std::unique_ptr<Drafter>> drafters)
      : parts_(std::move(drafters)) {}

  int count() const { return static_cast<int>(parts_.size()); }
  Drafter& operator[](int index) const {
    return *parts_[static_cast<std::size_t>(index)];
  }

  // Those of a whole that asks each part only as far as it reaches: the longest
  // text of any, the taps of any, all probes; it proposes ahead if all do. The
  // draw kinds are those that each part gives, or that InnerSessions::AnswerAll
  // makes of its ranking.
  DrafterTraits Traits() const;
  // Whether some part carries state. Then the whole's is that of the parts.
  bool carries() const;

  absl::Status Absorb(absl::Span<const TokenId> text,
                      absl::string_view learnt) override;
  absl::Status CheckLesson(absl::Span<const TokenId> text,
                           absl::string_view learnt) const override;
  std::vector<Carried> holdings() const override;

 private:
  std::vector<std::unique_ptr<Drafter>> parts_;
};

class InnerSessions : public TargetPassPart {
 public:
  explicit InnerSessions(const InnerDrafters& drafters);

  int count() const { return static_cast<int>(parts_.size()); }
  InnerSession& operator[](int index) {
    return parts_[static_cast<std::size_t>(index)];
  }
  const InnerSession& operator[](int index) const {
    return parts_[static_cast<std::size_t>(index)];
  }

  // A request to a whole, and by its nodes which part is to answer; -1: none,
  // and nothing is proposed.
  struct Choice {
    const DraftRequest* request;
    InnerSessions* parts;
    std::vector<int> part_of;
  };
  // Answers as Drafter::Propose, with a pass of each part that is chosen
  // somewhere, or more where it was not asked for the nodes above
  // (InnerSession). Nothing is proposed where a part does not reach. A part
  // that does not give the tree's draw kind ranks, and its best candidate is
  // proposed for certain. Requires sessions of the same drafters.
  static absl::StatusOr<std::vector<Proposals>> AnswerAll(
      absl::Span<const Choice> choices);

  // Whether some part takes part in the target's pass; then the whole does.
  bool in_target_pass() const;

  absl::Status Begin(const Context& context);
  absl::Status Observe(const Context& context, const RoundOutcome& outcome);
  // As CarriedState of the drafters reads it; empty if none carries state.
  std::string End();

  absl::Status TakeViews(Session& target) override;
  void Plant(const Context& context, int max_depth, TrunkTree& tree) override;
  DoneRows Computed(const DraftTree& tree) const override;

 private:
  void Start(const TrunkTree& tree);
  static absl::Status AnswerWith(int part, absl::Span<const Choice> choices,
                                 std::vector<Proposals>& answers);

  std::vector<InnerSession> parts_;
};

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_COMPOSED_INNER_DRAFTERS_H_
