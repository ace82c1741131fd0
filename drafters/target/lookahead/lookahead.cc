#include "drafters/target/lookahead/lookahead.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "core/base/check.h"
#include "core/base/params.h"
#include "core/base/status_macros.h"
#include "core/base/token.h"
#include "core/model/context.h"
#include "core/model/model.h"
#include "core/prob/distribution.h"
#include "core/prob/logits.h"
#include "drafters/drafter.h"
#include "drafters/halving.h"
#include "drafters/propose_each.h"
#include "drafters/target/lookahead/window.h"
#include "drafters/target/planted.h"
#include "drafters/workbench.h"
#include "tree/draft_tree.h"
#include "tree/tree_policy.h"
#include "tree/trunk_tree.h"
#include "tree/verdict.h"

namespace banyan {
namespace {

constexpr int kMostGuesses = static_cast<int>(kMostCandidates);

void ReadWindow(ParamsReader& in, int context_limit, WindowSize& window) {
  in.Optional("level", window.level);
  in.Ensure(window.level >= 2 && window.level <= kMaxDraws, "level",
            absl::StrCat("must lie between 2 and ", kMaxDraws));
  in.Optional("window", window.columns);
  in.Ensure(window.columns >= 1 && window.columns <= kMaxDraws, "window",
            absl::StrCat("must lie between 1 and ", kMaxDraws));
  if (!in.ok()) return;
  in.Ensure(window.Depth() < context_limit, "window",
            absl::StrCat("must leave room for the text: with level ",
                         window.level, " it reaches ", window.Depth(),
                         " tokens ahead, and the target's context is ",
                         context_limit));
  in.Ensure(window.MostRows() <= kMaxDraws, "window",
            absl::StrCat("must not take more than ", kMaxDraws,
                         " rows of a pass; with level ", window.level,
                         " it takes ", window.MostRows()));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Drafter>> Lookahead::Build(ParamsReader& in,
                                                          Workbench& bench) {
  LookaheadOptions options;
  ReadWindow(in, bench.target().context_limit(), options.window);
  in.Optional("guesses", options.guesses);
  in.Ensure(options.guesses >= 1 && options.guesses <= kMostGuesses, "guesses",
            absl::StrCat("must lie between 1 and ", kMostGuesses));
  in.Optional("pool_from_prompt", options.pool_from_prompt);
  BANYAN_RETURN_IF_ERROR(in.Finish());
  return std::make_unique<Lookahead>(bench.target().vocab_size(), options);
}

Lookahead::Lookahead(int vocab_size, const LookaheadOptions& options)
    : vocab_size_(vocab_size),
      options_(options),
      window_(options.window),
      pool_(static_cast<std::size_t>(options.guesses)) {
  Check(options.guesses <= kMostGuesses, "more guesses than scores tell");
}

std::vector<DraftLaw> Lookahead::laws() const {
  return {DraftLaw::kDeterministic};
}

absl::Status Lookahead::Begin(const Context& context) {
  std::vector<TokenId> tokens;
  std::copy_if(context.tokens.begin(), context.tokens.end(),
               std::back_inserter(tokens),
               [&](TokenId token) { return InVocabulary(token); });
  if (tokens.empty()) tokens = {0};  // a begin token alone
  window_.Begin(tokens);
  pool_.Clear();
  if (!options_.pool_from_prompt) return absl::OkStatus();
  const auto level = static_cast<std::size_t>(options_.window.level);
  for (std::size_t i = 0; i + level <= tokens.size(); ++i)
    pool_.Add(absl::MakeSpan(tokens).subspan(i, level));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Distribution>> Lookahead::Propose(
    const Context& context, const TrunkTree& tree,
    absl::Span<const int> nodes) {
  return ProposeEach(
      tree, nodes,
      [&](int /*node*/,
          const std::vector<TokenId>& path) -> absl::StatusOr<Distribution> {
        return Halving(vocab_size_, pool_.After(context.root(), path));
      });
}

void Lookahead::Plant(const Context& /*context*/, int max_depth,
                      TrunkTree& tree) {
  if (options_.window.Depth() <= max_depth) window_.Plant(tree);
}

absl::Status Lookahead::Observe(const Context& context,
                                const RoundOutcome& outcome) {
  const std::vector<int> planted = PlantedBy(outcome.trunk, outcome.tree);
  if (static_cast<int>(planted.size()) != window_.rows())
    return absl::OkStatus();  // there was no room for it
  std::vector<TokenId> next;
  for (const int end : window_.Ends()) {
    const int row = end < 0 ? 0 : planted[static_cast<std::size_t>(end)];
    BANYAN_ASSIGN_OR_RETURN(const std::vector<TokenLogit> best,
                            context.scored->Best(row, 1));
    next.push_back(best.front().token);
  }
  for (const std::vector<TokenId>& gram :
       window_.Advance(outcome.tree.node(0).token, next))
    pool_.Add(gram);
  return absl::OkStatus();
}

}  // namespace banyan
