// DrafterOfDrafters: what drafters that are made of drafters have in common,
// which is to hand on what they are told and asked to all of their parts.
#ifndef BANYAN_DRAFTERS_COMPOSED_DRAFTER_OF_DRAFTERS_H_
#define BANYAN_DRAFTERS_COMPOSED_DRAFTER_OF_DRAFTERS_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/base/token.h"
#include "core/model/context.h"
#include "core/model/model.h"
#include "core/prob/distribution.h"
#include "drafters/composed/inner_drafters.h"
#include "drafters/drafter.h"
#include "tree/draft_tree.h"
#include "tree/trunk_tree.h"
#include "tree/verdict.h"

namespace banyan {

// Derived classes say what they give, and answer in ProposeAll; they override
// what they do otherwise.
class DrafterOfDrafters : public Drafter {
 public:
  explicit DrafterOfDrafters(InnerDrafters parts) : parts_(std::move(parts)) {}

  bool carries_state() const override { return parts_.carries_state(); }
  std::string End() override { return parts_.End(); }
  absl::Status Absorb(absl::Span<const TokenId> text,
                      absl::string_view learnt) override {
    return parts_.Absorb(text, learnt);
  }
  absl::Status CheckLesson(absl::Span<const TokenId> text,
                           absl::string_view learnt) const override {
    return parts_.CheckLesson(text, learnt);
  }
  std::vector<Carried> carried() const override { return parts_.carried(); }
  std::vector<int> taps() const override { return parts_.taps(); }
  int longest_text() const override { return parts_.longest_text(); }
  absl::Status TakeViews(Session& target) override {
    return parts_.TakeViews(target);
  }
  absl::Status Begin(const Context& context) override {
    return parts_.Begin(context);
  }
  absl::StatusOr<std::vector<Distribution>> Propose(
      const Context& context, const TrunkTree& tree,
      absl::Span<const int> nodes) override {
    return ProposeAlone(context, tree, nodes);
  }
  absl::StatusOr<std::vector<std::vector<Distribution>>> ProposeAll(
      absl::Span<const DraftRequest> requests) override = 0;
  bool proposes_ahead() const override { return parts_.propose_ahead(); }
  void Plant(const Context& context, int max_depth, TrunkTree& tree) override {
    parts_.Plant(context, max_depth, tree);
  }
  int probes() const override { return parts_.probes(); }
  bool reads_rows() const override { return parts_.reads_rows(); }
  DoneRows Computed(const DraftTree& tree) const override {
    return parts_.Computed(tree);
  }
  absl::Status Observe(const Context& context,
                       const RoundOutcome& outcome) override {
    return parts_.Observe(context, outcome);
  }

 protected:
  InnerDrafters& parts() { return parts_; }
  const InnerDrafters& parts() const { return parts_; }

 private:
  InnerDrafters parts_;
};

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_COMPOSED_DRAFTER_OF_DRAFTERS_H_
