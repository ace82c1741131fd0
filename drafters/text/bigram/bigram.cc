#include "drafters/text/bigram/bigram.h"

#include <cstddef>
#include <utility>

#include "core/base/params.h"
#include "drafters/propose.h"
#include "drafters/rows.h"
#include "drafters/workbench.h"

namespace banyan {

Bigram::Bigram(std::shared_ptr<const TokenCounts> counts,
               const SamplingRule& rule)
    : Drafter({.draw_kinds = EveryDrawKind(), .proposes_ahead = true},
              /*carried=*/nullptr),
      counts_(std::move(counts)),
      rule_(rule),
      unigram_(counts_, rule) {}

// Empty after a token that is none of the vocabulary, as a begin token may be.
CountRow Bigram::RowOf(TokenId token) const {
  CountRow row = {.vocab_size = static_cast<int>(counts_->unigram.size())};
  if (token < 0 || token >= row.vocab_size) return row;
  const auto at = static_cast<std::size_t>(token);
  const auto begin = static_cast<std::ptrdiff_t>(counts_->offsets[at]);
  const auto end = static_cast<std::ptrdiff_t>(counts_->offsets[at + 1]);
  row.tokens.assign(counts_->tokens.begin() + begin,
                    counts_->tokens.begin() + end);
  row.values.assign(counts_->counts.begin() + begin,
                    counts_->counts.begin() + end);
  return row;
}

absl::StatusOr<Proposal> Bigram::ProposalAfter(
    TokenId token, DrawKind draw_kind, absl::Span<const TokenId> history,
    absl::Span<const TokenId> path) {
  Rows& rows = draw_kind == DrawKind::kDeterministic ? scores_ : laws_;
  if (const auto made = rows.find(token); made != rows.end())
    return made->second;
  CountRow row = RowOf(token);
  if (row.tokens.empty()) return unigram_.After(draw_kind, history, path);
  BANYAN_ASSIGN_OR_RETURN(
      const Proposal proposal,
      rule_.Apply(draw_kind, std::move(row), history, path));
  if (!rule_.reads_text()) rows.emplace(token, proposal);
  return proposal;
}

absl::StatusOr<std::vector<Proposals>> Bigram::Propose(
    absl::Span<const DraftRequest> requests) {
  return ProposeEach(requests, [this](const DraftRequest& request, int node,
                                      absl::Span<const TokenId> path) {
    return ProposalAfter(request.tree->node(node).token,
                         request.tree->draw_kind(), request.context->tokens,
                         path);
  });
}

namespace {

BuiltDrafter BuildBigram(ParamsReader& in, Workbench& bench) {
  BANYAN_ASSIGN_OR_RETURN(CountsAndRule made, TakeCounts(in, bench));
  return std::make_unique<Bigram>(std::move(made.counts), made.rule);
}

}  // namespace

DrafterRow BigramRow() {
  return {.name = "bigram",
          .sentence =
              "Bigrams: what follows the last token, from a file of counts.",
          .draw_kinds = EveryDrawKind(),
          .keys = CountsKeys(),
          .build = BuildBigram,
          .examples = {"{counts: counts.safetensors}",
                       "{counts: counts.safetensors,"
                       " sampling: {temperature: 0.5}}"}};
}

}  // namespace banyan
