#include "drafters/composed/or_else/or_else.h"

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/common.h"
#include "core/base/params.h"
#include "core/model/context.h"
#include "drafters/rows.h"
#include "drafters/workbench.h"

namespace banyan {
namespace {

constexpr int kFirst = 0;
constexpr int kSecond = 1;

class OrElseSession : public ChoosingSession {
 public:
  OrElseSession(const InnerDrafters& drafters, const std::vector<int>& depths)
      : ChoosingSession(drafters, depths) {}

  std::optional<double> Promise(const Context& context) const override {
    return PromiseOf(chosen(), context);
  }

 protected:
  int Choose(const Context& context) override {
    const bool drafts = parts()[kFirst].Reaches(context, 0) &&
                        PromiseOf(kFirst, context).value_or(1) > 0;
    return drafts ? kFirst : kSecond;
  }
};

}  // namespace

OrElse::OrElse(InnerDrafters parts, int depth)
    : ChoosingDrafter(std::move(parts), {0, depth}) {}

std::unique_ptr<DraftSession> OrElse::NewSession() const {
  return std::make_unique<OrElseSession>(parts(), depths());
}

namespace {

BuiltDrafter BuildOrElse(ParamsReader& in, int depth, Workbench& bench) {
  const Params* first = in.TakeRequired("first");
  const Params* second = in.TakeRequired("second");
  in.Ensure(depth >= 0, "depth", "must be at least 1, or 0 for no limit");
  BANYAN_RETURN_IF_ERROR(in.Finish());
  BANYAN_ASSIGN_OR_RETURN(InnerDrafters parts,
                          InnerDrafters::Build({*first, *second}, bench));
  return std::make_unique<OrElse>(std::move(parts), depth);
}

}  // namespace

DrafterRow OrElseRow() {
  Keys<int> keys;
  keys.Described(NameKey("first", "The drafter that is asked first."));
  keys.Described(NameKey("second", "The drafter of all other rounds."));
  keys.Optional("depth", std::identity(),
                "The most levels that `second` drafts; 0: no limit.");
  return {.name = "or_else",
          .sentence =
              "One drafter, or a second one in rounds for which the "
              "first has nothing.",
          .draw_kinds = EveryDrawKind(),
          .keys = keys.Rows(),
          .build = keys.ReadFor(BuildOrElse),
          .examples = {"{first: {name: sam, threshold: 2, tokens: 1},"
                       " second: {name: small_model, model: draft}}",
                       "{first: {name: sam, threshold: 2, tokens: 4},"
                       " second: {name: copy, min_match: 1}, depth: 1}"}};
}

}  // namespace banyan
