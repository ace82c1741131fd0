// ComposedDrafter and ComposedSession: the bases of drafters that are made of
// drafters, and of their sessions. What a sequence tells the whole goes to all
// parts, and the parts' facets are the whole's. No device runs their rounds.
//
// ChoosingDrafter and ChoosingSession are the bases of those that give each
// round to one of their parts.
#ifndef BANYAN_DRAFTERS_COMPOSED_COMPOSED_DRAFTER_H_
#define BANYAN_DRAFTERS_COMPOSED_COMPOSED_DRAFTER_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/common.h"
#include "core/model/context.h"
#include "drafters/composed/inner_drafters.h"
#include "drafters/drafter.h"
#include "tree/verdict.h"

namespace banyan {

class ComposedDrafter : public Drafter {
 protected:
  ComposedDrafter(DrafterTraits traits, InnerDrafters&& parts)
      : Drafter(std::move(traits), parts.carries() ? &parts_ : nullptr),
        parts_(std::move(parts)) {}

  const InnerDrafters& parts() const { return parts_; }

 private:
  InnerDrafters parts_;
};

class ComposedSession : public DraftSession {
 public:
  absl::Status Begin(const Context& context) override {
    return parts_.Begin(context);
  }
  absl::Status Observe(const Context& context,
                       const RoundOutcome& outcome) override {
    return parts_.Observe(context, outcome);
  }
  std::string End() override { return parts_.End(); }

  InnerSessions& parts() { return parts_; }
  const InnerSessions& parts() const { return parts_; }

 protected:
  explicit ComposedSession(const InnerDrafters& drafters)
      : ComposedSession(InnerSessions(drafters)) {}

 private:
  explicit ComposedSession(InnerSessions parts)
      : DraftSession(
            {.in_target_pass = parts.in_target_pass() ? &parts_ : nullptr}),
        parts_(std::move(parts)) {}

  InnerSessions parts_;
};

// ChoosingDrafter and ChoosingSession: the bases of drafters that give each
// round to one of their parts.
//
// The choice is made when a round is committed, from committed text and sums
// over earlier rounds, so it is the same whatever is drawn in the round it is
// for (docs/losslessness.md). All parts follow the text, chosen or not. Where
// the tree's draws are not deterministic, a part that only ranks proposes its
// best candidate for certain.
class ChoosingDrafter : public ComposedDrafter {
 public:
  absl::StatusOr<std::vector<Proposals>> Propose(
      absl::Span<const DraftRequest> requests) override;

 protected:
  // `depths`: the most levels that each part drafts; 0: no limit. Sessions are
  // ChoosingSessions.
  ChoosingDrafter(InnerDrafters parts, std::vector<int> depths);

  const std::vector<int>& depths() const { return depths_; }

 private:
  std::vector<int> depths_;
};

class ChoosingSession : public ComposedSession {
 public:
  absl::Status Begin(const Context& context) override;
  absl::Status Observe(const Context& context,
                       const RoundOutcome& outcome) override;

  // The part that drafts the next round.
  int chosen() const { return chosen_; }

 protected:
  ChoosingSession(const InnerDrafters& drafters, std::vector<int> depths);

  // The tokens that a part promises, or `otherwise` if it has no opinion; no
  // more than the levels that it drafts.
  std::optional<double> PromiseOf(
      int part, const Context& context,
      std::optional<double> otherwise = std::nullopt) const;
  virtual int Choose(const Context& context) = 0;
  // A round of the chosen part is committed; the next choice follows.
  virtual void Learn(const RoundOutcome& /*outcome*/) {}

 private:
  std::vector<int> depths_;
  int chosen_ = 0;
};

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_COMPOSED_COMPOSED_DRAFTER_H_
