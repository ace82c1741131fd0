#include "drafters/target/triforce/triforce.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

#include "core/base/common.h"
#include "core/base/params.h"
#include "core/model/context.h"
#include "drafters/rows.h"
#include "drafters/workbench.h"
#include "tree/verdict.h"

namespace banyan {
namespace {

ViewOptions SeenView(const SeenText& seen, int layers) {
  std::vector<int> all(static_cast<std::size_t>(layers));
  std::iota(all.begin(), all.end(), 0);
  ViewOptions options = ViewOptions::Layers(all);
  options.seen = seen;
  return options;
}

class TriforceSession : public ViewSession {
 public:
  explicit TriforceSession(const Triforce& drafter)
      : ViewSession(drafter),
        choose_every_(drafter.options().seen.chunks > 0 ? drafter.choose_every()
                                                        : 0) {}

  absl::Status TakeViews(Session& target) override {
    target_ = &target;
    chosen_at_ = target.length();
    return ViewSession::TakeViews(target);
  }
  absl::Status Observe(const Context& context,
                       const RoundOutcome& outcome) override {
    BANYAN_RETURN_IF_ERROR(ViewSession::Observe(context, outcome));
    const bool due =
        choose_every_ > 0 && target_->length() - chosen_at_ >= choose_every_;
    return due ? TakeViews(*target_) : absl::OkStatus();
  }

 private:
  int choose_every_;
  Session* target_ = nullptr;
  int chosen_at_ = 0;  // the length of the text
};

}  // namespace

SeenText Triforce::Within(int limit, SeenText seen) {
  seen.first = std::min(seen.first, limit);
  seen.latest = std::min(seen.latest, limit);
  seen.chunk = std::min(seen.chunk, limit);
  seen.chunks = std::min(seen.chunks, limit / seen.chunk + 1);
  return seen;
}

Triforce::Triforce(std::shared_ptr<const Model> target, const SeenText& seen,
                   int choose_every, SamplingRule rule)
    : ViewDrafter(target, SeenView(seen, target->layers()), std::move(rule)),
      choose_every_(choose_every) {}

std::unique_ptr<DraftSession> Triforce::NewSession() const {
  return std::make_unique<TriforceSession>(*this);
}

namespace {

struct TriforceOptions : SeenText {
  TriforceOptions()
      : SeenText{.first = 16, .latest = 256, .chunks = 0, .chunk = 16} {}
  int choose_every = 0;
};

BuiltDrafter BuildTriforce(ParamsReader& in, const TriforceOptions& options,
                           Workbench& bench) {
  BANYAN_ASSIGN_OR_RETURN(SamplingRule rule, bench.TakeRule(in));
  BANYAN_RETURN_IF_ERROR(in.Finish());
  const SeenText seen =
      Triforce::Within(bench.target().context_limit(), options);
  BANYAN_RETURN_IF_ERROR(
      CheckView(in.section(), bench, SeenView(seen, bench.target().layers())));
  return std::make_unique<Triforce>(bench.shared_target(), seen,
                                    options.choose_every, std::move(rule));
}

}  // namespace

DrafterRow TriforceRow() {
  Keys<TriforceOptions> keys;
  keys.AtLeast("first", &TriforceOptions::first, 0,
               "The first tokens that are seen.");
  keys.AtLeast("latest", &TriforceOptions::latest, 1,
               "The latest tokens that are seen.");
  keys.AtLeast("chunks", &TriforceOptions::chunks, 0,
               "Chunks between them that are seen, by attention.");
  keys.AtLeast("chunk", &TriforceOptions::chunk, 1, "The tokens of a chunk.");
  keys.AtLeast("choose_every", &TriforceOptions::choose_every, 0,
               "The tokens after which chunks are chosen again; 0: once a "
               "prompt.");
  keys.Described(SamplingKey());
  return {.name = "triforce",
          .sentence =
              "TriForce: the target over part of its KV cache: the first "
              "tokens, the latest, and chunks chosen by attention.",
          .draw_kinds = EveryDrawKind(),
          .keys = keys.Rows(),
          .build = keys.ReadFor(BuildTriforce),
          .examples = {"{first: 1, latest: 1}",
                       "{first: 0, latest: 1, chunks: 1, chunk: 2,"
                       " choose_every: 1}"}};
}

}  // namespace banyan
