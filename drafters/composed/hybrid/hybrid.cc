#include "drafters/composed/hybrid/hybrid.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "core/base/common.h"
#include "core/base/params.h"
#include "core/model/context.h"
#include "core/prob/distribution.h"
#include "drafters/rows.h"
#include "drafters/workbench.h"
#include "tree/draft_tree.h"
#include "tree/verdict.h"

namespace banyan {
namespace {

// How many tokens of the path the trunk drafted, up to the first that it did
// not.
int AcceptedOf(const RoundOutcome& outcome) {
  int accepted = 0;
  int at = 0;
  for (int next : outcome.verdict.path) {
    bool own = false;
    for (const DrawList& list : outcome.tree.node(at).lists)
      if (list.trunk == outcome.trunk)
        own = std::any_of(list.draws.begin(), list.draws.end(),
                          [&](const Draw& draw) { return draw.child == next; });
    if (!own) break;
    ++accepted;
    at = next;
  }
  return accepted;
}

class HybridSession : public ChoosingSession {
 public:
  HybridSession(const InnerDrafters& drafters, const HybridOptions& options)
      : ChoosingSession(drafters, options.depths),
        memory_(options.memory),
        start_(options.start),
        sums_(static_cast<std::size_t>(drafters.count())) {}

  std::optional<double> Promise(const Context& /*context*/) const override {
    return std::nullopt;
  }

 protected:
  int Choose(const Context& context) override;
  void Learn(const RoundOutcome& outcome) override;

 private:
  // Of the rounds in which a part was chosen, faded.
  struct Sums {
    double accepted = 0;
    double promised = 0;
  };

  double memory_;
  double start_;
  std::vector<Sums> sums_;  // by part
  double promised_ = 0;     // by the chosen one
};

int HybridSession::Choose(const Context& context) {
  double most = -1;
  int chosen = this->chosen();
  for (int part = 0; part < parts().count(); ++part) {
    if (!parts()[part].Reaches(context, 0)) continue;
    const Sums& sums = sums_[static_cast<std::size_t>(part)];
    const double promise = *PromiseOf(part, context, start_);
    const double value =
        promise * (sums.accepted + start_) / (sums.promised + start_);
    if (value <= most) continue;
    most = value;
    chosen = part;
    promised_ = promise;
  }
  return chosen;
}

void HybridSession::Learn(const RoundOutcome& outcome) {
  for (Sums& sums : sums_) {
    sums.accepted *= 1 - 1 / memory_;
    sums.promised *= 1 - 1 / memory_;
  }
  Sums& own = sums_[static_cast<std::size_t>(chosen())];
  own.accepted += AcceptedOf(outcome);
  own.promised += promised_;
}

}  // namespace

Hybrid::Hybrid(InnerDrafters parts, const HybridOptions& options)
    : ChoosingDrafter(std::move(parts), options.depths), options_(options) {}

std::unique_ptr<DraftSession> Hybrid::NewSession() const {
  return std::make_unique<HybridSession>(parts(), options_);
}

namespace {

BuiltDrafter BuildHybrid(ParamsReader& in, HybridOptions options,
                         Workbench& bench) {
  std::vector<Params> list;
  in.Required("drafters", list);
  in.Ensure(!list.empty(), "drafters", "must name a drafter");
  in.Ensure(options.start > 0, "start", "must be more than 0");
  BANYAN_RETURN_IF_ERROR(in.Finish());
  std::vector<Params> sections;
  for (std::size_t i = 0; i < list.size(); ++i) {
    ParamsReader one(list[i], absl::StrCat("drafter ", i + 1, " of a hybrid"));
    sections.emplace_back();
    options.depths.push_back(0);
    one.Required("drafter", sections.back());
    one.Optional("depth", options.depths.back());
    one.Ensure(options.depths.back() >= 0, "depth",
               "must be at least 1, or 0 for no limit");
    BANYAN_RETURN_IF_ERROR(one.Finish());
  }
  BANYAN_ASSIGN_OR_RETURN(InnerDrafters parts,
                          InnerDrafters::Build(sections, bench));
  return std::make_unique<Hybrid>(std::move(parts), options);
}

}  // namespace

DrafterRow HybridRow() {
  Keys<HybridOptions> keys;
  keys.Described(
      {.name = "drafters",
       .type = "list of name or section",
       .required = true,
       .sentence = "A list of `drafter` and `depth`, the most levels that it "
                   "drafts; 0 or left out: no limit."});
  keys.AtLeast("memory", &HybridOptions::memory, 1.0,
               "Running means are over about this many rounds.");
  keys.Optional(
      "start", &HybridOptions::start,
      "The accepted tokens that are expected of each before its first "
      "round.");
  return {.name = "hybrid",
          .sentence =
              "Each round, the one of several drafters that expects the most "
              "accepted tokens.",
          .draw_kinds = EveryDrawKind(),
          .keys = keys.Rows(),
          .build = keys.ReadFor(BuildHybrid),
          .examples = {
              "{drafters: [{drafter: {name: copy, min_match: 1}, depth: 1},"
              " {drafter: {name: small_model, model: draft}}], start: 1}",
              "{drafters: [{drafter: {name: ngram}},"
              " {drafter: {name: eagle, head: head}}], start: 1, memory: 2}"}};
}

}  // namespace banyan
