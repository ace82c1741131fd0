#include "verifiers/catalogue.h"

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "core/base/catalogue.h"
#include "core/base/params.h"
#include "core/base/status_macros.h"
#include "verifiers/bild.h"
#include "verifiers/block.h"
#include "verifiers/blockwise.h"
#include "verifiers/greedy.h"
#include "verifiers/k_seq.h"
#include "verifiers/lenience.h"
#include "verifiers/leviathan.h"
#include "verifiers/match.h"
#include "verifiers/multi_round.h"
#include "verifiers/point_mass.h"
#include "verifiers/rejection.h"
#include "verifiers/top_beta.h"
#include "verifiers/traversal.h"
#include "verifiers/typical.h"
#include "verifiers/verifier.h"
#include "verifiers/without_replacement.h"

namespace banyan {

absl::Span<const VerifierRow> VerifierCatalogue() {
  static const auto& rows = *new std::vector<VerifierRow>{
      {"greedy", "Keep a token if it is the target's argmax.", BuildGreedy},
      {"match", "Keep a token if a draw from the target gives it too.",
       BuildMatch},
      {"point_mass", "Judge every candidate as drawn from a one-hot law.",
       BuildPointMass},
      {"leviathan", "Speculative sampling on a chain, token by token.",
       BuildLeviathan},
      {"multi_round",
       "Speculative sampling round by round on a tree.",
       BuildMultiRound,
       {"{order: shuffled}"}},
      {"without_replacement",
       "Multi-round verification of draws without replacement.",
       BuildWithoutReplacement},
      {"k_seq", "K independent draws judged together at each node.", BuildKSeq},
      {"block", "A chain judged as a whole, keeping the longest prefix.",
       BuildBlock},
      {"traversal", "A tree judged from its leaves to its root.",
       BuildTraversal},
      {"typical",
       "LOSSY: keep what is typical under the target (Medusa).",
       BuildTypical,
       {"{next: argmax}"}},
      {"lenience",
       "LOSSY: speculative sampling with the draft discounted.",
       BuildLenience,
       {"{form: argmax}"}},
      {"bild",
       "LOSSY: take back what the target finds too unlikely (BiLD).",
       BuildBild,
       {"{next: argmax}"}},
      {"top_beta",
       "LOSSY: keep what is among the target's best few (SpecDec).",
       BuildTopBeta,
       {"{next: argmax}"}},
      {"rejection",
       "Rejection sampling on a chain: accepts with p / (M q), M = max p / q.",
       BuildRejection},
      {"blockwise_top_k",
       "LOSSY: keep what is among the target's k best (blockwise decoding).",
       BuildBlockwiseTopK,
       {"{next: argmax}"}},
      {"blockwise_distance",
       "LOSSY: keep what lies within epsilon of the target's best, by id "
       "(blockwise decoding).",
       BuildBlockwiseDistance,
       {"{next: argmax}"}},
  };
  return rows;
}

absl::StatusOr<std::unique_ptr<Verifier>> BuildVerifier(const Params& section) {
  BANYAN_ASSIGN_OR_RETURN(const VerifierRow* row,
                          FindRow(VerifierCatalogue(), "verifier", section));
  ParamsReader in(section, absl::StrCat("verifier ", row->name));
  in.Take("name");
  BANYAN_ASSIGN_OR_RETURN(std::unique_ptr<Verifier> verifier, row->build(in));
  BANYAN_RETURN_IF_ERROR(in.Finish());
  return verifier;
}

}  // namespace banyan
