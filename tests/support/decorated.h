// Bases of drafters that do what another one does, but for something. What a
// constructor moves from is taken by reference where the arguments beside it
// may read it.
#ifndef BANYAN_TESTS_SUPPORT_DECORATED_H_
#define BANYAN_TESTS_SUPPORT_DECORATED_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/common.h"
#include "core/model/context.h"
#include "drafters/drafter.h"
#include "tree/verdict.h"

namespace banyan {

class DecoratedSession : public DraftSession {
 public:
  // Does nothing but what a class derived from it does.
  DecoratedSession() : DecoratedSession(std::make_unique<BlankSession>()) {}
  explicit DecoratedSession(std::unique_ptr<DraftSession> inner)
      : DecoratedSession(std::move(inner), inner->facets()) {}
  DecoratedSession(std::unique_ptr<DraftSession>&& inner, SessionFacets facets)
      : DraftSession(facets), inner_(std::move(inner)) {}

  absl::Status Begin(const Context& context) override {
    return inner_->Begin(context);
  }
  std::optional<double> Promise(const Context& context) const override {
    return inner_->Promise(context);
  }
  absl::Status Observe(const Context& context,
                       const RoundOutcome& outcome) override {
    return inner_->Observe(context, outcome);
  }
  std::string End() override { return inner_->End(); }

  DraftSession& inner() const { return *inner_; }

 private:
  std::unique_ptr<DraftSession> inner_;
};

// Sessions are DecoratedSessions.
class Decorated : public Drafter {
 public:
  explicit Decorated(std::unique_ptr<Drafter> inner)
      : Decorated(inner->traits(), std::move(inner)) {}

  std::unique_ptr<DraftSession> NewSession() const override {
    return std::make_unique<DecoratedSession>(inner_->NewSession());
  }
  absl::StatusOr<std::vector<Proposals>> Propose(
      absl::Span<const DraftRequest> requests) override {
    std::vector<DraftRequest> of_inner(requests.begin(), requests.end());
    for (DraftRequest& request : of_inner)
      request.session = &SessionOf<DecoratedSession>(request).inner();
    return inner_->Propose(of_inner);
  }

 protected:
  Decorated(DrafterTraits traits, std::unique_ptr<Drafter>&& inner)
      : Drafter(std::move(traits), inner->carried()),
        inner_(std::move(inner)) {}

  Drafter& inner() const { return *inner_; }

 private:
  std::unique_ptr<Drafter> inner_;
};

}  // namespace banyan

#endif  // BANYAN_TESTS_SUPPORT_DECORATED_H_
