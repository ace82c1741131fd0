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
#include "core/base/keys.h"
#include "core/base/status_macros.h"
#include "core/base/token.h"
#include "core/model/context.h"
#include "core/model/model.h"
#include "core/prob/distribution.h"
#include "core/prob/logits.h"
#include "drafters/drafter.h"
#include "drafters/halving.h"
#include "drafters/propose_each.h"
#include "drafters/row.h"
#include "drafters/target/lookahead/gram_pool.h"
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

void EnsureWindow(ParamsReader& in, int context_limit,
                  const WindowSize& window) {
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

class LookaheadSession : public QuietSession, private TargetPassPart {
 public:
  LookaheadSession(int vocab_size, const LookaheadOptions& options)
      : QuietSession({.in_target_pass = this}),
        vocab_size_(vocab_size),
        options_(options),
        window_(options.window),
        pool_(static_cast<std::size_t>(options.guesses)) {}

  absl::Status Begin(const Context& context) override;
  absl::Status Observe(const Context& context,
                       const RoundOutcome& outcome) override;

  const GramPool& pool() const { return pool_; }

 private:
  absl::Status TakeViews(Session& /*target*/) override {
    return absl::OkStatus();
  }
  void Plant(const Context& context, int max_depth, TrunkTree& tree) override;
  DoneRows Computed(const DraftTree& /*tree*/) const override { return {}; }

  bool InVocabulary(TokenId token) const {
    return token >= 0 && token < vocab_size_;
  }

  int vocab_size_;
  LookaheadOptions options_;
  JacobiWindow window_;
  GramPool pool_;
};

absl::Status LookaheadSession::Begin(const Context& context) {
  std::vector<TokenId> tokens;
  std::copy_if(context.tokens.begin(), context.tokens.end(),
               std::back_inserter(tokens),
               [&](TokenId token) { return InVocabulary(token); });
  if (tokens.empty()) tokens = {0};  // a begin token alone
  window_.Begin(tokens);
  if (!options_.pool_from_prompt) return absl::OkStatus();
  const auto level = static_cast<std::size_t>(options_.window.level);
  for (std::size_t i = 0; i + level <= tokens.size(); ++i)
    pool_.Add(absl::MakeSpan(tokens).subspan(i, level));
  return absl::OkStatus();
}

void LookaheadSession::Plant(const Context& /*context*/, int max_depth,
                             TrunkTree& tree) {
  if (options_.window.Depth() <= max_depth) window_.Plant(tree);
}

absl::Status LookaheadSession::Observe(const Context& context,
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

}  // namespace

Lookahead::Lookahead(int vocab_size, const LookaheadOptions& options)
    : Drafter({.draw_kinds = {DrawKind::kDeterministic},
               .proposes_ahead = true,
               .reads_scores = true,
               .probes = options.window.MostRows()},
              /*carried=*/nullptr),
      vocab_size_(vocab_size),
      options_(options) {
  Check(options.guesses <= kMostGuesses, "more guesses than scores tell");
}

std::unique_ptr<DraftSession> Lookahead::NewSession() const {
  return std::make_unique<LookaheadSession>(vocab_size_, options_);
}

absl::StatusOr<std::vector<Proposals>> Lookahead::Propose(
    absl::Span<const DraftRequest> requests) {
  return ProposeEach(
      requests,
      [this](const DraftRequest& request, int /*node*/,
             absl::Span<const TokenId> path) -> absl::StatusOr<Proposal> {
        return Halving(vocab_size_,
                       SessionOf<LookaheadSession>(request).pool().After(
                           request.context->root(), path));
      });
}

namespace {

using Options = LookaheadOptions;

BuiltDrafter Build(ParamsReader& in, const Options& options, Workbench& bench) {
  EnsureWindow(in, bench.target().context_limit(), options.window);
  BANYAN_RETURN_IF_ERROR(in.Finish());
  return std::make_unique<Lookahead>(bench.target().vocab_size(), options);
}

}  // namespace

DrafterRow LookaheadRow() {
  Keys<Options> keys;
  keys.Between(
      "level", [](Options& read) -> int& { return read.window.level; }, 2,
      kMaxDraws, "The tokens of a gram.");
  keys.Between(
      "window", [](Options& read) -> int& { return read.window.columns; }, 1,
      kMaxDraws, "The places to come that are guessed at once.");
  keys.Between("guesses", &Options::guesses, 1, kMostGuesses,
               "The grams that its pool keeps of each first token.");
  keys.Optional("pool_from_prompt", &Options::pool_from_prompt,
                "Whether the pool begins with the prompt's grams.");
  return {.name = "lookahead",
          .sentence =
              "Lookahead decoding: the target's own guesses, refined beside "
              "the tree in the pass that verifies it.",
          .draw_kinds = {DrawKind::kDeterministic},
          .keys = keys.Rows(),
          .build = keys.ReadFor(Build),
          .examples = {"{level: 2, window: 3, guesses: 2}",
                       "{level: 3, window: 2, guesses: 2,"
                       " pool_from_prompt: true}"}};
}

}  // namespace banyan
