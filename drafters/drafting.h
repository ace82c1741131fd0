// Drafting: the one place where draft tokens are drawn.
#ifndef BANYAN_DRAFTERS_DRAFTING_H_
#define BANYAN_DRAFTERS_DRAFTING_H_

#include <cstddef>
#include <vector>

#include "absl/functional/function_ref.h"
#include "core/base/common.h"
#include "core/base/token.h"
#include "core/model/context.h"
#include "core/random/random_source.h"
#include "drafters/drafter.h"
#include "tree/draft_tree.h"
#include "tree/growing_tree.h"
#include "tree/method_policy.h"
#include "tree/tree_policy.h"
#include "tree/trunk_tree.h"

namespace banyan {

// A drafter with a session of it, the policy that shapes its tree and the draw
// kind.
struct TrunkView {
  Drafter& drafter;
  DraftSession& session;
  const TreePolicy& policy;
  DrawKind draw_kind;
  int trunk;  // its place among the trunks
};

struct DraftLimits {
  int max_depth = 0;                           // levels below the root
  absl::Span<const TokenId> end_of_text = {};  // nothing is drafted below these
};

// Drafts the tree of one sequence: asks for proposals and is answered, so that
// several sequences can be answered together.
//
//   Drafting drafting(trunks, context, limits, chance);
//   BANYAN_RETURN_IF_ERROR(drafting.Advance());
//   while (!drafting.wanted().empty()) {
//     ... one proposal of trunk drafting.asked() for each node of wanted() ...
//     BANYAN_RETURN_IF_ERROR(drafting.Answer(std::move(proposals)));
//   }
//   std::vector<TrunkTree> trees = std::move(drafting).Take();
//
// A policy of all drafters shapes the tree; else the policy of each trunk its
// own, one trunk after another. Asks the policy until it has nothing more to
// expand; wants proposals for all nodes it names that have none, else draws:
//   independent: each draw anew from the proposal;
//   without replacement: until its mass is used up;
//   deterministic: the next largest masses, ties towards the lower id.
class Drafting {
 public:
  // What `trunks` and `context` refer to outlives the drafting.
  Drafting(std::vector<TrunkView> trunks, const Context& context,
           const DraftLimits& limits, const Chance& chance);

  // Draws until proposals are wanted, or nothing more. Fails if the policy
  // shares draws between nodes whose proposals differ.
  absl::Status Advance();
  // The nodes whose proposals are wanted, of the trunk `asked()`, counted among
  // those given; none: the tree is drafted.
  const std::vector<int>& wanted() const { return wanted_; }
  std::size_t asked() const { return asked_; }
  DraftRequest Request() const;
  Drafter& drafter() const { return trunks_[asked_].drafter; }
  // Takes one proposal for each of wanted() and advances.
  absl::Status Answer(Proposals proposals);
  // The trunks' trees. Requires that nothing is wanted.
  std::vector<TrunkTree> Take() &&;

 private:
  // What to draw next, nodes in the drafter's own tree.
  struct Step {
    std::size_t trunk = 0;
    Expansion at = {};
    bool new_tokens = false;
  };
  const TrunkTree& tree(std::size_t trunk) const {
    return tree_.tree(static_cast<int>(trunk));
  }
  std::vector<Step> Next();
  void Want(const std::vector<Step>& next);
  absl::Status Expand(const Step& step);
  bool DrawOnce(const Step& step);
  absl::Status Share(const Step& step);
  void Record(const Step& step, const Distribution& left, int node,
              TokenId token);

  std::vector<TrunkView> trunks_;
  const Context& context_;
  Chance chance_;
  GrowingTree tree_;
  std::size_t turn_ = 0;  // whose policy is asked, where each has its own
  std::size_t asked_ = 0;
  std::vector<int> wanted_;
};

// Called when a trunk was asked and has drawn, of all sequences, with what came
// of it; what it returns ends the drafting if it is an error.
using AfterTrunk =
    absl::FunctionRef<absl::Status(std::size_t trunk, absl::Status status)>;

// Drafts them all, answering all that want proposals of a trunk in one call of
// its drafter. Requires that their trunks are of the same drafters. Fails as
// drafter or drafting does.
absl::Status DraftAll(absl::Span<Drafting> draftings, AfterTrunk after);
absl::Status DraftAll(absl::Span<Drafting> draftings);

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_DRAFTING_H_
