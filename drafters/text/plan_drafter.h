// PlanDrafter: a drafter that knows its whole draft when a round begins.
//
// Drafters that look up the end of the committed text in other text find a
// draft once a round, and what follows a path of the tree under way is what
// follows it in that draft, if the path is in it. So they say what they found
// (DraftPlan) and answer by walking it.
//
// The plan is made when the round before is committed, from committed text
// alone: it is the same whatever is drawn in the round it is for. Its scores
// are counts or shares of them. A CountRule makes distributions of them;
// without one they only rank.
#ifndef BANYAN_DRAFTERS_TEXT_PLAN_DRAFTER_H_
#define BANYAN_DRAFTERS_TEXT_PLAN_DRAFTER_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/base/common.h"
#include "core/base/params.h"
#include "core/base/token.h"
#include "core/model/context.h"
#include "drafters/drafter.h"
#include "drafters/text/token_counts.h"
#include "tree/verdict.h"

namespace banyan {

// DraftPlan: what a drafter means to propose in one round, as a trie below the
// last committed token.
class DraftPlan {
 public:
  struct Node {
    TokenId token = 0;
    int parent = -1;
    // How much speaks for it among what may follow its parent: a count, or a
    // share of one. More than 0.
    double score = 0;
    int first_child = -1;
    int next_sibling = -1;  // added before this one
  };

  DraftPlan() : nodes_(1) {}

  // A child of node `parent`; 0 is the root. Siblings are distinct tokens.
  // Returns its number.
  int Add(int parent, TokenId token, double score);
  // A chain of these tokens from the root, each with the score 1.
  static DraftPlan Chain(absl::Span<const TokenId> tokens);

  int size() const { return static_cast<int>(nodes_.size()); }
  const Node& node(int index) const {
    return nodes_[static_cast<std::size_t>(index)];
  }
  int depth(int index) const;
  // The node's child with this token, and the node of a path from the root; -1:
  // none.
  int Child(int index, TokenId token) const;
  int Find(absl::Span<const TokenId> path) const;

 private:
  std::vector<Node> nodes_;
};

class PlanDrafter : public Drafter {
 public:
  absl::StatusOr<std::vector<Proposals>> Propose(
      absl::Span<const DraftRequest> requests) override;

 protected:
  // With a rule it gives every draw kind, without one it only ranks. Tokens of
  // a plan that are outside the vocabulary are not proposed. Sessions are
  // PlanSessions.
  PlanDrafter(int vocab_size, const std::optional<CountRule>& rule,
              CarriedState* carried);

 private:
  int vocab_size_;
  std::optional<CountRule> rule_;
};

class PlanSession : public DraftSession {
 public:
  absl::Status Begin(const Context& context) override;
  // How many nodes of the plan it expects on the target's path, had it drawn
  // them all: the sum over them of the shares on their way.
  std::optional<double> Promise(const Context& context) const override;
  absl::Status Observe(const Context& context,
                       const RoundOutcome& outcome) override;
  std::string End() override { return {}; }

  const DraftPlan& plan() const { return plan_; }

 protected:
  PlanSession() : DraftSession(SessionFacets{}) {}

  int prompt_length() const { return prompt_length_; }

  // The text begins, of which Follow() will tell.
  virtual void Start(const Context& /*context*/) {}
  // The committed text, which has grown.
  virtual absl::Status Follow(const Context& context) = 0;
  // What to propose after it. Costs no more than the logarithm of its length.
  virtual DraftPlan Plan(const Context& context) = 0;

 private:
  int prompt_length_ = 0;
  DraftPlan plan_;
};

// The keys of drafters that look the end of the text up in other text: the
// fewest and the most tokens of a match.

template <typename Options>
void AddMatchLengths(Keys<Options>& keys) {
  keys.Between("max_match", &Options::max_match, 1, 64,
               "The most tokens that are matched.");
  keys.Optional("min_match", &Options::min_match,
                "The fewest tokens that are a match, at least 1.");
}

inline void EnsureMatchLengths(ParamsReader& in, int min_match, int max_match) {
  in.Ensure(
      min_match >= 1 && min_match <= max_match, "min_match",
      absl::StrCat("must lie between 1 and max_match, which is ", max_match));
}

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_TEXT_PLAN_DRAFTER_H_
