#include "tests/drafters/asking.h"

#include <algorithm>
#include <utility>

#include "configs/loader/yaml.h"
#include "core/base/check.h"
#include "core/base/common.h"
#include "core/base/params.h"
#include "drafters/catalogue.h"
#include "drafters/workbench.h"
#include "tests/conformance/pairing.h"
#include "tests/conformance/toys.h"
#include "tests/support/shared_models.h"
#include "tests/support/tree_text.h"
#include "tree/verdict.h"

namespace banyan {
namespace {

absl::StatusOr<std::unique_ptr<Drafter>> TryBuild(const std::string& spec,
                                                  const AskedFor& asked) {
  Workbench bench(Toy({.vocab_size = asked.vocab_size}),
                  SamplingRule(asked.sampling), std::make_shared<Assets>());
  BANYAN_ASSIGN_OR_RETURN(const Params section,
                          ParseYaml(Section(spec), asked.file));
  return BuildDrafter(section, bench);
}

}  // namespace

std::unique_ptr<Drafter> MustBuild(const std::string& spec,
                                   const AskedFor& asked) {
  absl::StatusOr<std::unique_ptr<Drafter>> drafter = TryBuild(spec, asked);
  Check(drafter.ok(), drafter.status().message());
  return *std::move(drafter);
}

std::unique_ptr<Solo> MustAsk(const std::string& spec, const AskedFor& asked) {
  return std::make_unique<Solo>(MustBuild(spec, asked));
}

std::string Refusal(const std::string& spec, const AskedFor& asked) {
  return std::string(TryBuild(spec, asked).status().message());
}

Context BeginWith(Solo& drafter, std::vector<TokenId> prompt) {
  Context context = ContextOf(std::move(prompt));
  Check(drafter.Begin(context).ok(), "a prompt can be begun");
  return context;
}

Context BeginAsMade(const Solo& drafter, std::vector<TokenId> prompt) {
  Context context = ContextOf(std::move(prompt));
  Check(drafter.session().Begin(context).ok(), "a prompt can be begun");
  return context;
}

void Commit(Solo& drafter, std::vector<TokenId> tokens, Context& context) {
  context.tokens.insert(context.tokens.end(), tokens.begin(), tokens.end());
  ++context.round;
  const DraftTree tree = ParseTree("0");
  const Verdict verdict = {.next = tokens.back()};
  Check(drafter.Observe(context, {tree, verdict, 0}).ok(),
        "a round can be observed");
}

void Finish(Solo& drafter, const Context& context) {
  const std::string learnt = drafter.End();
  Check(drafter.drafter().carried() == nullptr
            ? learnt.empty()
            : drafter.Absorb(context.tokens, learnt).ok(),
        "what a prompt taught can be taken over");
}

void PlantProbes(const Solo& drafter, const Context& context, int max_depth,
                 TrunkTree& tree) {
  TargetPassPart* part = drafter.session().facets().in_target_pass;
  Check(part != nullptr, "a part in the target's pass");
  part->Plant(context, max_depth, tree);
}

Distribution AtRoot(Solo& drafter, const Context& context, DrawKind draw_kind) {
  const TrunkTree tree(context.root(), 0, draw_kind);
  const std::vector<int> root = {0};
  absl::StatusOr<std::vector<Distribution>> proposals =
      drafter.Propose(context, tree, root);
  Check(proposals.ok(), proposals.status().message());
  Check(proposals->size() == 1, "one proposal a node");
  return proposals->front();
}

std::vector<TokenId> Ranked(const Distribution& proposal) {
  std::vector<std::pair<double, TokenId>> entries;
  proposal.ForEach(
      [&](TokenId token, double mass) { entries.emplace_back(-mass, token); });
  std::sort(entries.begin(), entries.end());
  std::vector<TokenId> tokens;
  for (const auto& entry : entries) tokens.push_back(entry.second);
  return tokens;
}

}  // namespace banyan
