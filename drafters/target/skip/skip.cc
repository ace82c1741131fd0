#include "drafters/target/skip/skip.h"

#include <cstddef>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/params.h"
#include "core/base/status_macros.h"
#include "core/model/model.h"
#include "core/prob/sampling_rule.h"
#include "drafters/drafter.h"
#include "drafters/row.h"
#include "drafters/target/view_drafter.h"
#include "drafters/workbench.h"

namespace banyan {
namespace {

// The layers whose block is run; those that are skipped stand under `key`.
std::vector<int> TakeKept(ParamsReader& in, absl::string_view key, int layers) {
  std::vector<int> skipped;
  in.Optional(key, skipped, "The layers whose block of this kind is skipped.");
  in.Ensure(
      absl::c_all_of(
          skipped,
          [layers](int layer) { return layer >= 0 && layer < layers; }),
      key,
      absl::StrCat("expected layers from 0 to ", layers - 1, ", the target's"));
  in.Ensure(
      std::set<int>(skipped.begin(), skipped.end()).size() == skipped.size(),
      key, "must name each layer once");
  std::vector<int> kept;
  for (int layer = 0; layer < layers; ++layer)
    if (!absl::c_linear_search(skipped, layer)) kept.push_back(layer);
  return kept;
}

absl::StatusOr<std::unique_ptr<Drafter>> Build(ParamsReader& in,
                                               Workbench& bench) {
  const int layers = bench.target().layers();
  ViewOptions options;
  options.attention = TakeKept(in, "attention", layers);
  options.feed_forward = TakeKept(in, "feed_forward", layers);
  Params weights;
  const bool lent = in.Optional(
      "weights", weights,
      "A name of `models`: the target in another format, over its cache.");
  BANYAN_ASSIGN_OR_RETURN(SamplingRule rule, bench.TakeRule(in));
  BANYAN_RETURN_IF_ERROR(in.Finish());
  if (options.attention.empty() && options.feed_forward.empty())
    return in.section().Error("nothing is left: every block is skipped");
  const auto all = static_cast<std::size_t>(layers);
  if (!lent && options.attention.size() == all &&
      options.feed_forward.size() == all)
    return in.section().Error(
        "nothing is skipped: this is the target itself; expected layers under "
        "attention or feed_forward, or other weights");
  std::shared_ptr<const Model> model = bench.shared_target();
  if (lent) {
    BANYAN_ASSIGN_OR_RETURN(model, bench.Open(weights));
    options.weights = model;
  }
  BANYAN_RETURN_IF_ERROR(CheckView(in.section(), bench, options));
  return std::make_unique<ViewDrafter>(std::move(model), std::move(options),
                                       std::move(rule));
}

}  // namespace

DrafterRow SkipRow() {
  return {.name = "skip",
          .sentence =
              "Self-speculation by skipped blocks: the target without some of "
              "its attention and feed-forward blocks.",
          .draw_kinds = EveryDrawKind(),
          .build = Build,
          .examples = {"{attention: [1], feed_forward: [0, 1]}"},
          .model_key = "weights",
          .search = SearchOver::kBlocks};
}

}  // namespace banyan
