#include "experiments/tools/pass_timing.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "core/base/clock.h"
#include "core/base/status_macros.h"
#include "core/base/token.h"
#include "core/model/model.h"
#include "core/ops/backend.h"
#include "core/ops/gauge.h"
#include "experiments/metrics/median.h"

namespace banyan {
namespace {

// Bandwidth is probed on a buffer of the weights' own size, so that a model
// that fits a cache is held against that cache; beyond this one nothing does.
constexpr std::size_t kLargestProbe = std::size_t{1} << 30;

// Passes before a timed one; the gauge measures for as long.
constexpr double kWarmMs = 4;

std::vector<double> Milliseconds(const PassTiming& timing) {
  std::vector<double> values;
  for (const TimedPass& pass : timing.passes) values.push_back(pass.ms);
  return values;
}

// Made-up tokens: timing does not look at them.
std::vector<TokenId> AnyTokens(int count, int vocab) {
  std::vector<TokenId> tokens;
  for (int i = 0; i < count; ++i) tokens.push_back((7 + i * 31) % vocab);
  return tokens;
}

// A session with `context` tokens committed.
absl::StatusOr<std::unique_ptr<Session>> Filled(const Model& model,
                                                int context) {
  std::unique_ptr<Session> session = model.NewSession();
  BANYAN_RETURN_IF_ERROR(
      session->Prefill(AnyTokens(context, model.vocab_size())));
  return session;
}

absl::StatusOr<double> TimePass(const Model& model, Session& session,
                                int tokens, const Clock& clock) {
  const TokenBatch batch = TokenBatch::Chain(
      AnyTokens(tokens, model.vocab_size()), session.length());
  BANYAN_RETURN_IF_ERROR(model.Finish());
  const std::int64_t start = clock.NowNs();
  BANYAN_ASSIGN_OR_RETURN(const auto scores, ScoreOne(model, session, batch));
  BANYAN_RETURN_IF_ERROR(model.Finish());
  const std::int64_t end = clock.NowNs();
  BANYAN_RETURN_IF_ERROR(session.Commit({}));
  return static_cast<double>(end - start) / 1e6;
}

// Null: the device does not know its limits.
absl::StatusOr<std::unique_ptr<Gauge>> MakeGauge(Backend& backend,
                                                 std::size_t bytes,
                                                 const Clock& clock) {
  auto gauge = backend.NewGauge(bytes, clock);
  if (absl::IsUnimplemented(gauge.status())) return nullptr;
  return gauge;
}

absl::Status CheckSizes(const Model& model, const TimingOptions& options) {
  for (int context : options.contexts)
    for (int tokens : options.batches)
      if (context < 0 || tokens < 1 || context + tokens > model.context_limit())
        return absl::InvalidArgumentError(absl::StrCat(
            "a batch of ", tokens, " after a context of ", context,
            ": expected at least 1 and 0, together at most the model's ",
            model.context_limit()));
  return absl::OkStatus();
}

}  // namespace

double PassTiming::median_ms() const { return Median(Milliseconds(*this)); }

double PassTiming::least_ms() const {
  const std::vector<double> ms = Milliseconds(*this);
  return *std::min_element(ms.begin(), ms.end());
}

double PassTiming::most_ms() const {
  const std::vector<double> ms = Milliseconds(*this);
  return *std::max_element(ms.begin(), ms.end());
}

std::optional<double> PassTiming::median_share(double bytes,
                                               double operations) const {
  std::vector<double> shares;
  for (const TimedPass& pass : passes) {
    if (pass.bandwidth == 0 || pass.peak == 0) return std::nullopt;
    shares.push_back(1e3 *
                     std::max(bytes / pass.bandwidth, operations / pass.peak) /
                     pass.ms);
  }
  return Median(shares);
}

std::optional<double> PassTiming::median_bandwidth_share(double bytes) const {
  return median_share(bytes, 0);
}

absl::StatusOr<std::vector<PassTiming>> TimePasses(
    const Model& model, Backend& backend, const TimingOptions& options,
    const Clock& clock, absl::FunctionRef<void(int done, int all)> progress) {
  BANYAN_RETURN_IF_ERROR(CheckSizes(model, options));
  std::vector<PassTiming> timings;
  std::vector<std::unique_ptr<Session>> sessions;  // by timing
  for (int context : options.contexts) {
    for (int tokens : options.batches) {
      timings.push_back({.context = context, .tokens = tokens});
      BANYAN_ASSIGN_OR_RETURN(std::unique_ptr<Session> session,
                              Filled(model, context));
      sessions.push_back(std::move(session));
      // The first pass of a size makes its room.
      BANYAN_RETURN_IF_ERROR(
          TimePass(model, *sessions.back(), tokens, clock).status());
    }
  }
  const ModelFacts facts = model.facts();
  BANYAN_ASSIGN_OR_RETURN(
      const std::unique_ptr<Gauge> gauge,
      MakeGauge(backend, std::min(facts.streamed_bytes, kLargestProbe), clock));
  int done = 0;
  for (int round = 0; round < options.rounds; ++round) {
    for (std::size_t i = 0; i < timings.size(); ++i) {
      TimedPass pass;
      if (gauge != nullptr) {
        BANYAN_ASSIGN_OR_RETURN(pass.bandwidth, gauge->ReadBandwidth());
        BANYAN_ASSIGN_OR_RETURN(pass.peak, gauge->Peak(facts.format));
      }
      // The gauge leaves other numbers in the caches than the pass before a
      // pass does when decoding: as long as the gauge took, passes run first.
      for (double warm = 0; warm < kWarmMs;) {
        BANYAN_ASSIGN_OR_RETURN(
            const double ms,
            TimePass(model, *sessions[i], timings[i].tokens, clock));
        warm += ms;
      }
      BANYAN_ASSIGN_OR_RETURN(
          pass.ms, TimePass(model, *sessions[i], timings[i].tokens, clock));
      timings[i].passes.push_back(pass);
      progress(++done, options.rounds * static_cast<int>(timings.size()));
    }
  }
  return timings;
}

}  // namespace banyan
