#include "drafters/text/unigram/unigram.h"

#include <utility>

#include "core/base/params.h"
#include "core/base/token.h"
#include "core/prob/distribution.h"
#include "drafters/propose.h"
#include "drafters/rows.h"
#include "drafters/workbench.h"
#include "tree/draft_tree.h"
#include "tree/trunk_tree.h"

namespace banyan {

Unigram::Unigram(std::shared_ptr<const TokenCounts> counts,
                 const SamplingRule& rule)
    : Drafter({.draw_kinds = EveryDrawKind(), .proposes_ahead = true},
              /*carried=*/nullptr),
      law_(std::move(counts), rule) {}

absl::StatusOr<std::vector<Proposals>> Unigram::Propose(
    absl::Span<const DraftRequest> requests) {
  return ProposeEach(requests, [this](const DraftRequest& request, int /*node*/,
                                      absl::Span<const TokenId> path) {
    return law_.After(request.tree->draw_kind(), request.context->tokens, path);
  });
}

namespace {

BuiltDrafter BuildUnigram(ParamsReader& in, Workbench& bench) {
  BANYAN_ASSIGN_OR_RETURN(CountsAndRule made, TakeCounts(in, bench));
  return std::make_unique<Unigram>(std::move(made.counts), made.rule);
}

}  // namespace

DrafterRow UnigramRow() {
  return {
      .name = "unigram",
      .sentence = "Unigrams: token frequencies from a file of counts.",
      .draw_kinds = EveryDrawKind(),
      .keys = CountsKeys(),
      .build = BuildUnigram,
      .examples = {"{counts: counts.safetensors}",
                   "{counts: counts.safetensors, sampling: {temperature: 0}}"}};
}

}  // namespace banyan
