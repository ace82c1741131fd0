#include "drafters/target/lookahead/lookahead.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/base/check.h"
#include "core/base/params.h"
#include "core/model/context.h"
#include "core/model/model.h"
#include "core/prob/sampling_rule.h"
#include "drafters/propose.h"
#include "drafters/rows.h"
#include "drafters/workbench.h"
#include "tree/tree_policy.h"
#include "tree/verdict.h"

namespace banyan {

void GramPool::Add(absl::Span<const TokenId> gram) {
  Check(gram.size() >= 2, "a gram of two tokens at least");
  std::vector<Gram>& known = grams_[gram.front()];
  Gram rest(gram.begin() + 1, gram.end());
  known.erase(std::remove(known.begin(), known.end(), rest), known.end());
  known.insert(known.begin(), std::move(rest));
  if (known.size() > most_) known.pop_back();
}

std::vector<TokenId> GramPool::After(TokenId first,
                                     absl::Span<const TokenId> path) const {
  std::vector<TokenId> tokens;
  const auto found = grams_.find(first);
  if (found == grams_.end()) return tokens;
  for (const Gram& gram : found->second) {
    if (gram.size() <= path.size()) continue;
    const auto [behind, end] =
        std::mismatch(gram.begin(), gram.end(), path.begin(), path.end());
    if (end != path.end()) continue;
    if (std::find(tokens.begin(), tokens.end(), *behind) == tokens.end())
      tokens.push_back(*behind);
  }
  return tokens;
}

// Jacobi iteration over the tokens to come (Fu et al., "Break the Sequential
// Dependency of LLM Inference Using Lookahead Decoding", arXiv:2402.02057, 3.2,
// whose N is our level and whose W our columns).
//
// Recurrence. Let c_i(0), ..., c_i(k-1) be column i, c_0(0) the root, and g_i
// the target's best token after it, given the root, the heads c_1(0), ...,
// c_i(0) and the column. Each pass moves the root on by one place.
//
//   full, k = N - 1   (c_i(0), ..., c_i(k-1), g_i) is a gram of N tokens, and
//                     c_i becomes c_i(1), ..., c_i(k-1), g_i: the trajectory's
//                     oldest level goes, the columns stay where they are.
//   filling, k < N-1  c_i becomes column i - 1 with g_i after it; the first
//                     column goes. So the window begins with W + N - 2 columns
//                     of one token and is full, with W, after N - 2 passes.
//
// Either way a token keeps its distance from the root, which has moved by one.
// Where several tokens were accepted the window still moves by one, also in the
// published program (ALWAYS_FWD_ONE): its grams may occur anywhere in the text.
//
// Published, the first level is drawn at random from the prompt's tokens; here
// it is the prompt's last ones in their order, for chance comes from a Chance
// alone.

int WindowSize::MostRows() const {
  int most = 0;
  for (int levels = 1; levels < level; ++levels)
    most = std::max(most, (columns + level - 1 - levels) * levels - 1);
  return most;
}

JacobiWindow::JacobiWindow(const WindowSize& size)
    : size_(size),
      columns_(static_cast<std::size_t>(size.columns + size.level - 2)) {
  Check(size.columns >= 1 && size.level >= 2, "a window of one gram at least");
}

void JacobiWindow::Begin(absl::Span<const TokenId> tokens) {
  Check(!tokens.empty(), "a window begins with some token");
  columns_.assign(static_cast<std::size_t>(size_.columns + size_.level - 2),
                  {});
  const std::size_t heads = columns_.size() - 1;
  const absl::Span<const TokenId> last =
      tokens.last(std::min(std::max<std::size_t>(heads, 1), tokens.size()));
  columns_.front() = {last.front()};
  for (std::size_t i = 0; i < heads; ++i)
    columns_[i + 1] = {last[i % last.size()]};
}

void JacobiWindow::Plant(TrunkTree& tree) const {
  int head = 0;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (i > 0) head = tree.AddProbe(head, columns_[i].front());
    int above = head;
    for (std::size_t level = 1; level < columns_[i].size(); ++level)
      above = tree.AddProbe(above, columns_[i][level]);
  }
}

int JacobiWindow::rows() const {
  return static_cast<int>(columns_.size()) * levels() - 1;
}

// Depth first, a head's column stands before the next head.
std::vector<int> JacobiWindow::Ends() const {
  std::vector<int> ends;
  for (std::size_t i = 0; i < columns_.size(); ++i)
    ends.push_back((static_cast<int>(i) + 1) * levels() - 2);
  return ends;
}

std::vector<std::vector<TokenId>> JacobiWindow::Advance(
    TokenId root, absl::Span<const TokenId> next) {
  Check(next.size() == columns_.size(), "a token after each column");
  columns_.front().front() = root;
  const bool was_full = full();
  for (std::size_t i = 0; i < columns_.size(); ++i)
    columns_[i].push_back(next[i]);
  if (!was_full) {
    columns_.erase(columns_.begin());
    return {};
  }
  std::vector<std::vector<TokenId>> grams = columns_;
  for (std::vector<TokenId>& column : columns_) column.erase(column.begin());
  return grams;
}

std::vector<int> PlantedBy(int trunk, const DraftTree& tree) {
  std::vector<int> planted;
  for (int node = 0; node < tree.size(); ++node)
    if (tree.node(node).probe_of == trunk) planted.push_back(node);
  return planted;
}

namespace {

constexpr int kMostGrams = static_cast<int>(kMostCandidates);

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
               .probes = options.window.MostRows(),
               .below_others = false},
              /*carried=*/nullptr),
      vocab_size_(vocab_size),
      options_(options) {
  Check(options.guesses <= kMostGrams, "more guesses than scores tell");
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

BuiltDrafter BuildLookahead(ParamsReader& in, const LookaheadOptions& options,
                            Workbench& bench) {
  EnsureWindow(in, bench.target().context_limit(), options.window);
  BANYAN_RETURN_IF_ERROR(in.Finish());
  return std::make_unique<Lookahead>(bench.target().vocab_size(), options);
}

}  // namespace

DrafterRow LookaheadRow() {
  Keys<LookaheadOptions> keys;
  keys.Between(
      "level", [](LookaheadOptions& read) -> int& { return read.window.level; },
      2, kMaxDraws, "The tokens of a gram.");
  keys.Between(
      "window",
      [](LookaheadOptions& read) -> int& { return read.window.columns; }, 1,
      kMaxDraws, "The places to come that are guessed at once.");
  keys.Between("guesses", &LookaheadOptions::guesses, 1, kMostGrams,
               "The grams that its pool keeps of each first token.");
  keys.Optional("pool_from_prompt", &LookaheadOptions::pool_from_prompt,
                "Whether the pool begins with the prompt's grams.");
  return {.name = "lookahead",
          .sentence =
              "Lookahead decoding: the target's own guesses, refined beside "
              "the tree in the pass that verifies it.",
          .draw_kinds = {DrawKind::kDeterministic},
          .keys = keys.Rows(),
          .build = keys.ReadFor(BuildLookahead),
          .examples = {"{level: 2, window: 3, guesses: 2}",
                       "{level: 3, window: 2, guesses: 2,"
                       " pool_from_prompt: true}"}};
}

}  // namespace banyan
