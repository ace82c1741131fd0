#include "drafters/composed/relay/relay.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "core/base/params.h"
#include "core/model/context.h"
#include "core/prob/distribution.h"
#include "drafters/rows.h"
#include "drafters/workbench.h"
#include "tree/draft_tree.h"
#include "tree/tree_policy.h"

namespace banyan {
namespace {

class RelaySession : public ComposedSession {
 public:
  explicit RelaySession(const InnerDrafters& drafters)
      : ComposedSession(drafters) {}
  std::optional<double> Promise(const Context& /*context*/) const override {
    return std::nullopt;
  }
};

DrafterTraits RelayTraitsOf(const InnerDrafters& parts) {
  DrafterTraits traits = parts.Traits();
  traits.draw_kinds.clear();
  for (DrawKind draw_kind : kDrawKinds) {
    bool all = true;
    for (int i = 0; i < parts.count(); ++i)
      all = all && parts[i].Gives(draw_kind);
    if (all) traits.draw_kinds.push_back(draw_kind);
  }
  return traits;
}

}  // namespace

Relay::Relay(InnerDrafters parts, std::vector<int> ends)
    : ComposedDrafter(RelayTraitsOf(parts), std::move(parts)),
      ends_(std::move(ends)) {}

std::unique_ptr<DraftSession> Relay::NewSession() const {
  return std::make_unique<RelaySession>(parts());
}

int Relay::PartAt(int depth) const {
  return static_cast<int>(std::upper_bound(ends_.begin(), ends_.end(), depth) -
                          ends_.begin());
}

absl::StatusOr<std::vector<Proposals>> Relay::Propose(
    absl::Span<const DraftRequest> requests) {
  std::vector<InnerSessions::Choice> choices;
  for (const DraftRequest& request : requests) {
    choices.push_back(
        {&request, &SessionOf<RelaySession>(request).parts(), {}});
    for (int node : request.nodes)
      choices.back().part_of.push_back(PartAt(request.tree->node(node).depth));
  }
  return InnerSessions::AnswerAll(choices);
}

namespace {

BuiltDrafter BuildRelay(ParamsReader& in, Workbench& bench) {
  std::vector<Params> spans;
  in.Required("spans", spans);
  in.Ensure(!spans.empty(), "spans", "must name a drafter");
  BANYAN_RETURN_IF_ERROR(in.Finish());
  std::vector<Params> sections;
  std::vector<int> ends;
  int levels = 0;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    ParamsReader span(spans[i], absl::StrCat("span ", i + 1, " of a relay"));
    sections.emplace_back();
    span.Required("drafter", sections.back());
    if (i + 1 < spans.size()) {
      int own = 0;
      span.Required("levels", own);
      // A tree has at most as many levels as draws.
      span.Ensure(own >= 1 && own <= kMaxDraws - levels, "levels",
                  absl::StrCat("must be at least 1, and with the spans before ",
                               "at most ", kMaxDraws));
      ends.push_back(levels += own);
    } else {
      span.Ensure(span.Take("levels") == nullptr, "levels",
                  "is not for the last span, which has the rest");
    }
    BANYAN_RETURN_IF_ERROR(span.Finish());
  }
  BANYAN_ASSIGN_OR_RETURN(InnerDrafters parts,
                          InnerDrafters::Build(sections, bench));
  return std::make_unique<Relay>(std::move(parts), std::move(ends));
}

}  // namespace

DrafterRow RelayRow() {
  return {.name = "relay",
          .sentence =
              "Horizontal cascade: another drafter for each span of a tree's "
              "levels.",
          .draw_kinds = EveryDrawKind(),
          .keys = {{.name = "spans",
                    .type = "list of name or section",
                    .required = true,
                    .sentence = "A list of `levels` and `drafter`: how many "
                                "levels each drafts; the last one has no "
                                "`levels`."}},
          .build = BuildRelay,
          .examples = {
              "{spans: [{levels: 1, drafter: {name: small_model, model: "
              "draft}}, {drafter: {name: ngram}}]}",
              "{spans: [{levels: 1, drafter: {name: bigram, counts: "
              "counts.safetensors}}, {drafter: {name: eagle, head: head}}]}"}};
}

}  // namespace banyan
