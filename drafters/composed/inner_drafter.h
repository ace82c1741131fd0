// InnerDrafter: a drafter that another drafter is made of, asked about a tree
// of its own.
//
// The whole may ask more of a part than was drawn (guesses), or less, or by
// another law. So the part's tree is not the one under way: it has its root and
// grows by what is asked for. Nodes are found by their paths; what nobody drew
// is a probe there. Each node is asked for once a drafting.
#ifndef BANYAN_DRAFTERS_COMPOSED_INNER_DRAFTER_H_
#define BANYAN_DRAFTERS_COMPOSED_INNER_DRAFTER_H_

#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "core/base/token.h"
#include "core/model/context.h"
#include "core/prob/distribution.h"
#include "drafters/drafter.h"
#include "tree/draft_tree.h"
#include "tree/trunk_tree.h"

namespace banyan {

class InnerDrafter {
 public:
  // What may follow these nodes of the part's tree?
  struct Question {
    InnerDrafter* part;
    const Context* context;
    std::vector<int> nodes;
  };
  // Has all these nodes answered, and their ancestors before them: in one pass
  // of drafters that propose ahead, else in one a level. No pass where all is
  // answered. Requires that the drafters are clones of one, and that they reach
  // the nodes.
  static absl::Status AskAll(absl::Span<const Question> questions);

  explicit InnerDrafter(std::unique_ptr<Drafter> drafter);

  Drafter& drafter() const { return *drafter_; }
  bool Gives(DraftLaw law) const;
  bool only_ranks() const {
    return laws_ == std::vector<DraftLaw>{DraftLaw::kDeterministic};
  }
  // Whether a node of this depth may be asked for after the committed text.
  bool Reaches(const Context& context, int depth) const;

  // A drafting begins: a bare root, drawn below by `law`. All else is
  // forgotten.
  void Start(const TrunkTree& of, DraftLaw law);
  const TrunkTree& tree() const { return tree_; }
  // The node with the path of `node` in `of`, and a node's child with this
  // token. Either is made where it is not there.
  int Find(const TrunkTree& of, int node);
  int Child(int node, TokenId token);
  // What the drafter proposed there in this drafting; null: it was not asked.
  const Distribution* answer(int node) const;

 private:
  std::vector<int> NextOf(absl::Span<const int> nodes) const;
  void Take(absl::Span<const int> nodes, std::vector<Distribution> answers);

  std::unique_ptr<Drafter> drafter_;
  // Asked for once: each level of drafters in drafters would ask the one below
  // several times, which multiplies.
  std::vector<DraftLaw> laws_;
  TrunkTree tree_;
  std::vector<std::optional<Distribution>> answers_;  // by node
};

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_COMPOSED_INNER_DRAFTER_H_
