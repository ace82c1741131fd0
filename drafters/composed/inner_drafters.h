// InnerDrafters and InnerSessions: the drafters that a drafter is made of, and
// a sequence's sessions of them. All follow the text, whichever proposes.
#ifndef BANYAN_DRAFTERS_COMPOSED_INNER_DRAFTERS_H_
#define BANYAN_DRAFTERS_COMPOSED_INNER_DRAFTERS_H_

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/base/params.h"
#include "core/base/token.h"
#include "core/model/context.h"
#include "core/model/model.h"
#include "drafters/composed/inner_session.h"
#include "drafters/drafter.h"
#include "drafters/workbench.h"
#include "tree/draft_tree.h"
#include "tree/trunk_tree.h"
#include "tree/verdict.h"

namespace banyan {

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
