#include "drafters/composed/cascade/cascade.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "core/base/params.h"
#include "core/base/token.h"
#include "core/model/context.h"
#include "core/prob/distribution.h"
#include "drafters/rows.h"
#include "drafters/workbench.h"
#include "tree/draft_tree.h"
#include "tree/tree_policy.h"
#include "tree/trunk_tree.h"

namespace banyan {
namespace {

// As many as a policy may draw.
constexpr int kMostGuesses = kMaxDraws;

double GuessesBelowANode(const CascadeOptions& options) {
  double guesses = 0;
  for (int level = 1; level <= std::min(options.ahead, kMostGuesses); ++level)
    guesses += std::pow(options.width, level);
  return guesses;
}

class CascadeSession : public ComposedSession {
 public:
  // A request under way, in nodes of the upper part's tree.
  struct Asking {
    InnerSession::Question upper;
    std::vector<int> edge;  // whose children are guessed next
  };

  CascadeSession(const InnerDrafters& drafters, const CascadeOptions& options)
      : ComposedSession(drafters), options_(options) {}

  std::optional<double> Promise(const Context& context) const override {
    return parts()[0].session().Promise(context);
  }

  InnerSession& upper() { return parts()[0]; }
  InnerSession& lower() { return parts()[1]; }
  Asking Ask(const DraftRequest& request);
  bool MayGuess(const Context& context, int node) const;
  std::vector<int> Guess(int node, const Distribution& law);

 private:
  CascadeOptions options_;
};

// The upper part's, but that guesses are asked for ahead.
DrafterTraits TraitsOf(const InnerDrafters& parts) {
  DrafterTraits traits = parts.Traits();
  traits.draw_kinds = parts[0].traits().draw_kinds;
  traits.depth_heads = parts[0].traits().depth_heads;
  traits.longest_text = parts[0].traits().longest_text;
  traits.proposes_ahead = true;
  return traits;
}

// What is not known is asked for, and guessed below.
CascadeSession::Asking CascadeSession::Ask(const DraftRequest& request) {
  if (request.nodes.front() == 0) {  // a drafting begins
    upper().Start(*request.tree, request.tree->draw_kind());
    // Ranked, it has more than one candidate at temperature 0 too.
    lower().Start(*request.tree,
                  lower().drafter().Gives(DrawKind::kDeterministic)
                      ? DrawKind::kDeterministic
                      : lower().drafter().traits().draw_kinds.front());
  }
  Asking asking = {.upper = {&upper(), request.context, {}}, .edge = {}};
  for (int node : request.nodes) {
    const int own = upper().Find(*request.tree, node);
    if (upper().answer(own) == nullptr) asking.upper.nodes.push_back(own);
  }
  asking.edge = asking.upper.nodes;
  return asking;
}

// Whether anything below a node can be asked for.
bool CascadeSession::MayGuess(const Context& context, int node) const {
  const int depth = parts()[0].tree().node(node).depth;
  return parts()[1].Reaches(context, depth) &&
         parts()[0].Reaches(context, depth + 1) &&
         static_cast<std::int64_t>(context.tokens.size()) + depth + 1 <
             options_.context_limit;
}

std::vector<int> CascadeSession::Guess(int node, const Distribution& law) {
  std::vector<int> guessed;
  Distribution left = law;
  for (int i = 0; i < options_.width && !left.empty(); ++i) {
    const TokenId token = left.Argmax();
    guessed.push_back(upper().Child(node, token));
    left = left.Without(token);
  }
  return guessed;
}

// One level more for all of them, in one pass of the lower drafters.
absl::Status GuessLevel(absl::Span<const DraftRequest> requests,
                        std::vector<CascadeSession::Asking>& asking) {
  std::vector<InnerSession::Question> questions;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    auto& own = SessionOf<CascadeSession>(requests[i]);
    const Context& context = *requests[i].context;
    std::vector<int>& edge = asking[i].edge;
    edge.erase(
        std::remove_if(edge.begin(), edge.end(),
                       [&](int node) { return !own.MayGuess(context, node); }),
        edge.end());
    questions.push_back({&own.lower(), &context, {}});
    for (int node : edge)
      questions.back().nodes.push_back(
          own.lower().Find(own.upper().tree(), node));
  }
  BANYAN_RETURN_IF_ERROR(InnerSession::AskAll(questions));
  for (std::size_t i = 0; i < requests.size(); ++i) {
    auto& own = SessionOf<CascadeSession>(requests[i]);
    std::vector<int> next;
    for (std::size_t j = 0; j < asking[i].edge.size(); ++j)
      for (int guess : own.Guess(asking[i].edge[j],
                                 own.lower().answer(questions[i].nodes[j])->q))
        next.push_back(guess);
    asking[i].edge = std::move(next);
    std::vector<int>& asked = asking[i].upper.nodes;
    asked.insert(asked.end(), asking[i].edge.begin(), asking[i].edge.end());
  }
  return absl::OkStatus();
}

}  // namespace

Cascade::Cascade(InnerDrafters parts, const CascadeOptions& options)
    : ComposedDrafter(TraitsOf(parts), std::move(parts)), options_(options) {}

std::unique_ptr<DraftSession> Cascade::NewSession() const {
  return std::make_unique<CascadeSession>(parts(), options_);
}

absl::StatusOr<std::vector<Proposals>> Cascade::Propose(
    absl::Span<const DraftRequest> requests) {
  std::vector<CascadeSession::Asking> asking;
  for (const DraftRequest& request : requests)
    asking.push_back(SessionOf<CascadeSession>(request).Ask(request));
  for (int level = 0; level < options_.ahead; ++level)
    BANYAN_RETURN_IF_ERROR(GuessLevel(requests, asking));
  std::vector<InnerSession::Question> questions;
  for (const auto& one : asking) questions.push_back(one.upper);
  BANYAN_RETURN_IF_ERROR(InnerSession::AskAll(questions));
  std::vector<Proposals> all;
  for (const DraftRequest& request : requests) {
    InnerSession& upper = SessionOf<CascadeSession>(request).upper();
    all.emplace_back();
    for (int node : request.nodes)
      all.back().push_back(*upper.answer(upper.Find(*request.tree, node)));
  }
  return all;
}

namespace {

BuiltDrafter BuildCascade(ParamsReader& in, CascadeOptions options,
                          Workbench& bench) {
  const Params* upper = in.TakeRequired("upper");
  const Params* lower = in.TakeRequired("lower");
  options.context_limit = bench.target().context_limit();
  in.Ensure(options.width >= 1 && GuessesBelowANode(options) <= kMostGuesses,
            "width",
            absl::StrCat("must be at least 1, and make at most ", kMostGuesses,
                         " guesses below a node"));
  BANYAN_RETURN_IF_ERROR(in.Finish());
  BANYAN_ASSIGN_OR_RETURN(InnerDrafters parts,
                          InnerDrafters::Build({*upper, *lower}, bench));
  if (!parts[0].traits().proposes_ahead)
    return upper->Error(
        absl::StrCat("cascade: drafter ", upper->Find("name")->text(),
                     " proposes level by level, so no guess of drafter ",
                     lower->Find("name")->text(), " can save it a pass"));
  return std::make_unique<Cascade>(std::move(parts), options);
}

}  // namespace

DrafterRow CascadeRow() {
  Keys<CascadeOptions> keys;
  keys.Described(NameKey("upper", "The drafter whose proposals are made."));
  keys.Described(NameKey("lower", "The drafter that guesses ahead."));
  keys.Between("ahead", &CascadeOptions::ahead, 1, kMostGuesses,
               "The levels that `lower` guesses for a pass of `upper`.");
  keys.Optional("width", &CascadeOptions::width,
                "The guesses below a node, at least 1.");
  return {.name = "cascade",
          .sentence =
              "Vertical cascade: a cheaper drafter guesses the drafter's "
              "tokens, which saves passes of the drafter.",
          .draw_kinds = EveryDrawKind(),
          .keys = keys.Rows(),
          .build = keys.ReadFor(BuildCascade),
          .examples = {
              "{upper: {name: medusa, heads: heads}, ahead: 2, width: 2,"
              " lower: {name: bigram, counts: counts.safetensors}}",
              "{upper: {name: small_model, model: draft}, lower: {name: "
              "cascade, upper: {name: ngram}, lower: {name: copy, min_match: "
              "1}}}"}};
}

}  // namespace banyan
