// Makes target and draft distributions of a language model's size, without a
// model. The benchmarks draft from them and verify against them.
#ifndef BANYAN_TESTS_BENCHMARKS_MADE_UP_LAWS_H_
#define BANYAN_TESTS_BENCHMARKS_MADE_UP_LAWS_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "core/base/common.h"
#include "core/base/token.h"
#include "core/prob/distribution.h"
#include "drafters/drafter.h"

namespace banyan {

// Holds `kCount` pairs of a target and a draft distribution. They are made
// once, since making them is not timed. 64 dense pairs are 32 MiB, more than
// fits in a core's own caches, as in a real round. A target distribution is
// Zipf's over the tokens in some order; the drafter's logits are the target's
// with noise added.
class MadeUpLaws {
 public:
  static constexpr int kVocabSize = 32000;
  static constexpr int kEntries = 50;  // of the sparse proposals
  static constexpr int kCount = 64;

  MadeUpLaws();

  // Which pair belongs to a path of tokens below the root.
  static int Pick(absl::Span<const TokenId> path);

  const std::vector<double>& logits() const { return logits_; }
  const Distribution& target(int index) const { return At(targets_, index); }
  const Distribution& dense(int index) const { return At(dense_, index); }
  // The entries of largest mass, renormalised.
  const Distribution& sparse(int index) const { return At(sparse_, index); }

 private:
  static const Distribution& At(const std::vector<Distribution>& laws,
                                int index) {
    return laws[static_cast<std::size_t>(index)];
  }

  std::vector<double> logits_;  // of the first target distribution
  std::vector<Distribution> targets_;
  std::vector<Distribution> dense_;
  std::vector<Distribution> sparse_;
};

// Proposes the distribution of a node's path. Costs only the path's hash.
class MadeUpDrafter : public Drafter {
 public:
  MadeUpDrafter(const MadeUpLaws& laws, bool dense)
      : Drafter({.draw_kinds = EveryDrawKind()}, /*carried=*/nullptr),
        laws_(laws),
        dense_(dense) {}

  std::unique_ptr<DraftSession> NewSession() const override {
    return std::make_unique<BlankSession>();
  }
  absl::StatusOr<std::vector<Proposals>> Propose(
      absl::Span<const DraftRequest> requests) override;

 private:
  const MadeUpLaws& laws_;
  bool dense_;
};

}  // namespace banyan

#endif  // BANYAN_TESTS_BENCHMARKS_MADE_UP_LAWS_H_
