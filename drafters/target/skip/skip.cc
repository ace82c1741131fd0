// Skipping: the target without some of its blocks drafts for the whole (Draft &
// Verify, Zhang et al., arXiv:2309.08168). Attention and feed-forward of a
// layer are two blocks, each of which only adds to what flows past it.
//
// Drafting takes no cache of its own, and no weights unless it is told to run
// with the same model's in another format: then it is the target in less
// detail, whether blocks are skipped or none. Which blocks are worth skipping
// `banyan make layers` finds.
#include <cstddef>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "core/base/common.h"
#include "core/base/params.h"
#include "core/model/model.h"
#include "core/prob/sampling_rule.h"
#include "drafters/drafter.h"
#include "drafters/rows.h"
#include "drafters/target/view_drafter.h"
#include "drafters/workbench.h"

namespace banyan {
namespace {

struct SkipOptions {
  std::vector<int> attention;  // the layers that are skipped
  std::vector<int> feed_forward;
};

// The layers whose block is run; `skipped` stand under `key`.
std::vector<int> KeptOf(ParamsReader& in, absl::string_view key,
                        const std::vector<int>& skipped, int layers) {
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

BuiltDrafter BuildSkip(ParamsReader& in, const SkipOptions& read,
                       Workbench& bench) {
  const int layers = bench.target().layers();
  ViewOptions options;
  options.attention = KeptOf(in, "attention", read.attention, layers);
  options.feed_forward = KeptOf(in, "feed_forward", read.feed_forward, layers);
  const Params* weights = in.Take("weights");
  BANYAN_ASSIGN_OR_RETURN(SamplingRule rule, bench.TakeRule(in));
  BANYAN_RETURN_IF_ERROR(in.Finish());
  if (options.attention.empty() && options.feed_forward.empty())
    return in.section().Error("nothing is left: every block is skipped");
  const auto all = static_cast<std::size_t>(layers);
  if (weights == nullptr && options.attention.size() == all &&
      options.feed_forward.size() == all)
    return in.section().Error(
        "nothing is skipped: this is the target itself; expected layers under "
        "attention or feed_forward, or other weights");
  std::shared_ptr<const Model> model = bench.shared_target();
  if (weights != nullptr) {
    BANYAN_ASSIGN_OR_RETURN(model, bench.Open(*weights));
    options.weights = model;
  }
  BANYAN_RETURN_IF_ERROR(CheckView(in.section(), bench, options));
  return std::make_unique<ViewDrafter>(std::move(model), std::move(options),
                                       std::move(rule));
}

}  // namespace

DrafterRow SkipRow() {
  constexpr char kSkipped[] = "The layers whose block of this kind is skipped.";
  Keys<SkipOptions> keys;
  keys.Optional("attention", &SkipOptions::attention, kSkipped);
  keys.Optional("feed_forward", &SkipOptions::feed_forward, kSkipped);
  keys.Described(
      "weights", "name or section",
      "A name of `models`: the target in another format, over its cache.");
  keys.Described(SamplingKey());
  return {.name = "skip",
          .sentence =
              "Self-speculation by skipped blocks: the target without some of "
              "its attention and feed-forward blocks.",
          .draw_kinds = EveryDrawKind(),
          .keys = keys.Rows(),
          .build = keys.ReadFor(BuildSkip),
          .examples = {"{attention: [1], feed_forward: [0, 1]}"},
          .model_key = "weights",
          .search = SearchOver::kBlocks};
}

}  // namespace banyan
