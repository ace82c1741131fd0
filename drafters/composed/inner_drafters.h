// InnerDrafters: the drafters that a drafter is made of, in what they do alike:
// all follow the text, whoever proposes.
#ifndef BANYAN_DRAFTERS_COMPOSED_INNER_DRAFTERS_H_
#define BANYAN_DRAFTERS_COMPOSED_INNER_DRAFTERS_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/base/params.h"
#include "core/base/token.h"
#include "core/model/context.h"
#include "core/model/model.h"
#include "core/prob/distribution.h"
#include "drafters/composed/inner_drafter.h"
#include "drafters/drafter.h"
#include "drafters/workbench.h"
#include "tree/draft_tree.h"
#include "tree/trunk_tree.h"
#include "tree/verdict.h"

namespace banyan {

// What a drafter made of parts says where Drafter has a function of the same
// name. A device runs rounds of none, so there is no OnDevice() and no
// Resume().
class InnerDrafters {
 public:
  // The drafters of these sections. Refuses two that plant probes, which could
  // not tell theirs apart; fails as BuildDrafter.
  static absl::StatusOr<InnerDrafters> Build(absl::Span<const Params> sections,
                                             Workbench& bench);

  explicit InnerDrafters(std::vector<std::unique_ptr<Drafter>> drafters);

  InnerDrafters Clone() const;
  int count() const { return static_cast<int>(parts_.size()); }
  InnerDrafter& operator[](int index) {
    return parts_[static_cast<std::size_t>(index)];
  }
  const InnerDrafter& operator[](int index) const {
    return parts_[static_cast<std::size_t>(index)];
  }

  // A request to a whole, and by its nodes which part is to answer; -1: none,
  // and nothing is proposed.
  struct Choice {
    const DraftRequest* request;
    InnerDrafters* parts;
    std::vector<int> part_of;
  };
  // Answers as Drafter::ProposeAll, with a pass of each part that is chosen
  // somewhere, or more where it was not asked for the nodes above
  // (InnerDrafter). Nothing is proposed where a part does not reach. A part
  // that does not give the tree's law ranks, and its best candidate is proposed
  // for certain. Requires wholes of the same parts.
  static absl::StatusOr<std::vector<std::vector<Distribution>>> AnswerAll(
      absl::Span<const Choice> choices);

  // These hold if they hold for one.
  bool carries_state() const;
  bool reads_rows() const;
  // These hold if they hold for all.
  bool propose_ahead() const;
  bool AllGive(DraftLaw law) const;
  // The laws that each part gives, or that AnswerAll makes of its ranking.
  std::vector<DraftLaw> LawsGivenOrMade() const;
  // The longest of all: each part is asked only as far as it reaches.
  int longest_text() const;
  std::vector<int> taps() const;  // of any
  int probes() const;             // of all together

  std::string End();
  absl::Status Absorb(absl::Span<const TokenId> text, absl::string_view learnt);
  absl::Status CheckLesson(absl::Span<const TokenId> text,
                           absl::string_view learnt) const;
  std::vector<Carried> carried() const;  // of all
  absl::Status TakeViews(Session& target);
  absl::Status Begin(const Context& context);
  void Plant(const Context& context, int max_depth, TrunkTree& tree);
  DoneRows Computed(const DraftTree& tree) const;
  absl::Status Observe(const Context& context, const RoundOutcome& outcome);

 private:
  // What End() said of each part.
  absl::StatusOr<std::vector<absl::string_view>> OfParts(
      absl::string_view learnt) const;
  void Start(const TrunkTree& tree);
  static absl::Status AnswerWith(
      int part, absl::Span<const Choice> choices,
      std::vector<std::vector<Distribution>>& answers);

  std::vector<InnerDrafter> parts_;
};

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_COMPOSED_INNER_DRAFTERS_H_
