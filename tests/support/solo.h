// A drafter with one session, asked directly.
#ifndef BANYAN_TESTS_SUPPORT_SOLO_H_
#define BANYAN_TESTS_SUPPORT_SOLO_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/common.h"
#include "core/base/token.h"
#include "core/model/context.h"
#include "drafters/drafter.h"
#include "tree/trunk_tree.h"
#include "tree/verdict.h"

namespace banyan {

class Solo {
 public:
  explicit Solo(std::shared_ptr<Drafter> drafter)
      : drafter_(std::move(drafter)), session_(drafter_->NewSession()) {}

  // One of the same drafter for another sequence.
  std::unique_ptr<Solo> Another() const {
    return std::make_unique<Solo>(drafter_);
  }
  Drafter& drafter() const { return *drafter_; }
  DraftSession& session() const { return *session_; }
  const DrafterTraits& traits() const { return drafter_->traits(); }

  // A new session's prompt.
  absl::Status Begin(const Context& context) {
    session_ = drafter_->NewSession();
    return session_->Begin(context);
  }
  std::optional<double> Promise(const Context& context) const {
    return session_->Promise(context);
  }
  absl::Status Observe(const Context& context, const RoundOutcome& outcome) {
    return session_->Observe(context, outcome);
  }
  std::string End() { return session_->End(); }
  // The masses of its proposals.
  absl::StatusOr<std::vector<Distribution>> Propose(
      const Context& context, const TrunkTree& tree,
      absl::Span<const int> nodes) {
    const DraftRequest request = {
        session_.get(), &context, &tree, {nodes.begin(), nodes.end()}};
    auto all = drafter_->Propose({&request, 1});
    if (!all.ok()) return all.status();
    Check(all->size() == 1, "one answer a request");
    std::vector<Distribution> masses;
    for (Proposal& proposal : all->front())
      masses.push_back(std::move(proposal.q));
    return masses;
  }

  // Of a drafter that carries state.
  absl::Status Absorb(absl::Span<const TokenId> text,
                      absl::string_view learnt) {
    return State().Absorb(text, learnt);
  }
  absl::Status CheckLesson(absl::Span<const TokenId> text,
                           absl::string_view learnt) const {
    return State().CheckLesson(text, learnt);
  }
  std::vector<Carried> holdings() const { return State().holdings(); }

 private:
  CarriedState& State() const {
    Check(drafter_->carried() != nullptr, "a drafter that carries state");
    return *drafter_->carried();
  }

  std::shared_ptr<Drafter> drafter_;
  std::unique_ptr<DraftSession> session_;
};

}  // namespace banyan

#endif  // BANYAN_TESTS_SUPPORT_SOLO_H_
