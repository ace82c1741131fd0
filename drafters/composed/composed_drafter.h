// ComposedDrafter and ComposedSession: the bases of drafters that are made of
// drafters, and of their sessions. What a sequence tells the whole goes to all
// parts, and the parts' facets are the whole's. No device runs their rounds.
#ifndef BANYAN_DRAFTERS_COMPOSED_COMPOSED_DRAFTER_H_
#define BANYAN_DRAFTERS_COMPOSED_COMPOSED_DRAFTER_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
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

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_COMPOSED_COMPOSED_DRAFTER_H_
