// The host's side of a round's lists: how long they are for a plan, what they
// hold before the first round, and what a round left in them.
#ifndef BANYAN_CORE_ROUND_LAID_OUT_H_
#define BANYAN_CORE_ROUND_LAID_OUT_H_

#include <cstddef>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/round/layout.h"
#include "core/round/plan.h"

namespace banyan {

class LaidOut {
 public:
  // Requires at most kMostRoundDrafters.
  explicit LaidOut(RoundPlan plan);

  const RoundPlan& plan() const { return plan_; }
  const RoundLayout& layout() const { return layout_; }
  // By level: the most nodes that a drafter proposes for.
  const std::vector<int>& widths(int drafter) const {
    return widths_[static_cast<std::size_t>(drafter)];
  }
  // The nodes of the widest level of any.
  int widest() const;
  // A drafter's rows, and distributions of all, before those of a level.
  int RowsBefore(int drafter, int level) const;
  int DistributionsBefore(int drafter, int level) const;

  // The integers from kPlaceFirst on, which no round changes.
  const std::vector<int>& fixed() const { return fixed_; }
  // What stands before kToken when a sequence is put there.
  std::vector<int> Opening(const RoundStart& start) const;
  // The texts that drafters have not read, kUnreadText.
  std::vector<int> UnreadText(const RoundStart& start) const;

  // After a round the doubles from the first of these on are read, and as many
  // of the integers as the second says.
  int first_double() const { return layout_.double_at[book::kPathMass]; }
  int read_back() const { return layout_.integer_at[book::kWanted]; }
  // Fails as SamplingRule::Apply does on a row that was read; the round then
  // changed nothing.
  absl::StatusOr<RoundFindings> Read(absl::Span<const int> integers,
                                     absl::Span<const double> doubles) const;

 private:
  void ReadShape(const RoundDrafter& plan, DrafterLayout& of);
  void LayOut();
  int Lag(int drafter, const RoundStart& start) const;

  RoundPlan plan_;
  RoundLayout layout_;
  std::vector<std::vector<int>> widths_;
  std::vector<int> firsts_, counts_, list_;  // of places
  std::vector<int> fixed_;
};

}  // namespace banyan

#endif  // BANYAN_CORE_ROUND_LAID_OUT_H_
