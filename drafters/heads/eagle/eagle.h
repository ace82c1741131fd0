// EAGLE: a network on the target's hidden states as drafter (Li et al.,
// arXiv:2401.15077, 2406.16858, 2503.01840), and multi-token prediction, which
// is the same network with other names.
//
// Its session holds a pair for each token of the committed text but the first:
// the token with the target's states before it (layouts.h). After a round it
// reads the pairs of what was committed, with the target's own states; the last
// of them has the root. In a round all open nodes of a level are one pass, each
// with what came out of its parent's pair in the place of the states. So below
// the root a draft is as good as the network's own guess at the states.
//
// Proposals are its sampling rule's laws; ranked, those of RankingRule. After a
// prompt of one token there is nothing to read, and no proposal.
#ifndef BANYAN_DRAFTERS_HEADS_EAGLE_EAGLE_H_
#define BANYAN_DRAFTERS_HEADS_EAGLE_EAGLE_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/params.h"
#include "core/base/token.h"
#include "core/model/context.h"
#include "core/model/model.h"
#include "core/prob/distribution.h"
#include "core/prob/sampling_rule.h"
#include "drafters/drafter.h"
#include "drafters/heads/eagle/head.h"
#include "drafters/pending_tree.h"
#include "drafters/workbench.h"
#include "tree/draft_tree.h"
#include "tree/trunk_tree.h"
#include "tree/verdict.h"

namespace banyan {

class Eagle : public Drafter {
 public:
  // Keys: `head`, and `sampling` for a rule of its own.
  static absl::StatusOr<std::unique_ptr<Drafter>> Build(ParamsReader& in,
                                                        Workbench& bench);

  Eagle(std::shared_ptr<const EagleHead> head, SamplingRule rule);

  std::unique_ptr<Drafter> Clone() const override;
  std::vector<DraftLaw> laws() const override;
  std::vector<int> taps() const override;
  int longest_text() const override;
  absl::Status Begin(const Context& context) override;
  absl::StatusOr<std::vector<Distribution>> Propose(
      const Context& context, const TrunkTree& tree,
      absl::Span<const int> nodes) override {
    return ProposeAlone(context, tree, nodes);
  }
  absl::StatusOr<std::vector<std::vector<Distribution>>> ProposeAll(
      absl::Span<const DraftRequest> requests) override;
  absl::StatusOr<DrafterTwin> OnDevice(DraftLaw law) override;
  void Resume(const Context& context) override;
  absl::Status Observe(const Context& context,
                       const RoundOutcome& outcome) override;

 private:
  // Rows to score: pairs, and the vectors that they start from.
  struct Pairs {
    TokenBatch batch;
    std::vector<float> vectors;
  };
  // What came out of a node's pair: a row of one of the round's passes.
  struct Output {
    std::size_t pass = 0;
    int row = 0;
  };

  // Takes up the pairs of the text's last `count` tokens, whose states are the
  // features' last ones.
  void Take(const Context& context, int count);
  // The round under way; and with it all pairs.
  void ForgetRound();
  void ForgetAll();
  // Ends what an abandoned round left, here and in the session.
  absl::Status DropRound();
  absl::Status MakeVectors();
  absl::StatusOr<Pairs> PairsOf(const DraftRequest& request);
  absl::Status StartRound();
  // Reads the first of the unread pairs for good, all but `left`.
  absl::Status ReadAllBut(std::size_t left);
  absl::StatusOr<std::vector<Distribution>> LawsOf(
      const DraftRequest& request, const Pairs& pairs,
      std::unique_ptr<Scores> scores);

  std::shared_ptr<const EagleHead> head_;
  SamplingRule rule_;
  SamplingRule ranking_;  // for deterministic draws
  std::unique_ptr<Session> session_;
  // Pairs with the target's states that the session has not committed.
  std::vector<TokenId> unread_;
  std::vector<float> unread_vectors_;  // but of the last, which have states yet
  std::vector<float> states_;          // the target's
  bool read_ = false;  // they are pending, the first of the pending rows
  PendingTree pending_;
  std::vector<std::unique_ptr<Scores>> passes_;  // of this round
  std::vector<Output> output_of_;                // by node
};

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_HEADS_EAGLE_EAGLE_H_
