// Drafting from a corpus on disk (REST).
//
// Rule. Each round looks up the longest suffix of the committed text, of
// min_match to max_match tokens, that the corpus continues
// (drafters/text/corpus_index.h). The continuations, `depth` tokens at no more
// than `samples` evenly spaced places, are merged into a trie. A node's count
// is the number of places it stands for. The draft is the `nodes` nodes of the
// largest counts; no child has a larger count than its parent. Equal counts go
// by the lesser depth, then by the order of the tokens.
//
// Why the output distribution is kept. The draft is made from the committed
// text before anything is drawn (PlanDrafter). Verifiers are given the
// distribution that tokens are drawn from, which the rule makes of the counts
// (CountRule).
//
// Cases. There is no draft if not even the last min_match tokens of the text
// occur in the corpus. Continuations end where documents do. Counts of several
// shards are added.
//
// Cost. No part of a round depends on how often a match occurs in the corpus,
// and none grows faster than the logarithm of the corpus.
//
// Reference: He et al., "REST: Retrieval-based speculative decoding", NAACL
// 2024, and its program: matches of 16 to 2 tokens, longest first, the next 10
// tokens of at most 5,000 of them. What differs: the program takes the matches
// that come first, whatever they continue with, and counts them alone; evenly
// spaced ones are a fair share of all. Its limit of 64 is no number of nodes:
// it drops paths, longest first, until the distinct tokens of all their
// prefixes sum up to 64, which leaves about 20 nodes; `nodes: 20` drafts as
// much. It keeps paths of equal count in no stated order. It judges each path
// by draws of its own, which is lossy (docs/losslessness.md names lossless
// verifiers); here any verifier judges the tree.
#ifndef BANYAN_DRAFTERS_TEXT_REST_REST_H_
#define BANYAN_DRAFTERS_TEXT_REST_REST_H_

#include <memory>

#include "core/prob/sampling_rule.h"
#include "drafters/drafter.h"
#include "drafters/text/corpus_index.h"
#include "drafters/text/plan_drafter.h"

namespace banyan {

struct RestOptions {
  int max_match = 16;
  int min_match = 2;
  int nodes = 64;
  int depth = 10;
  int samples = 512;
};

class Rest : public PlanDrafter {
 public:
  // Requires an index whose tokens are of the vocabulary (CheckFits), and
  // options that are at least 1, min_match no more than max_match.
  Rest(std::shared_ptr<const CorpusIndex> index, int vocab_size,
       const RestOptions& options, const SamplingRule& rule);

  std::unique_ptr<DraftSession> NewSession() const override;

 private:
  std::shared_ptr<const CorpusIndex> index_;
  RestOptions options_;
};

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_TEXT_REST_REST_H_
