#include "experiments/timing/pass_timing.h"

#include <memory>
#include <utility>

#include "core/base/common.h"
#include "core/base/token.h"
#include "core/model/context.h"
#include "core/prob/sampling_rule.h"
#include "core/round/plan.h"

namespace banyan {
namespace {

// Bandwidth is probed on a buffer of the weights' own size, so that a model
// that fits a cache is held against that cache; beyond this one nothing does.
constexpr std::size_t kLargestProbe = std::size_t{1} << 30;

// Passes before a timed one; the gauge measures for as long.
constexpr double kWarmMs = 4;
constexpr int kLeastRounds = 3;  // a median needs them

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

// Runs passes of one size after a context, as decoding does. Where the device
// runs rounds alone, a pass is a recorded round with a tree of `tokens` nodes,
// of which the device judges the root. Such a round commits a token, so the
// text starts again once it has grown by kGrowth tokens.
class Passes {
 public:
  Passes(const Model& model, int context, int tokens)
      : model_(model), length_(context), tokens_(tokens) {}

  // What the first passes make, and what they record.
  absl::Status Begin() {
    round_ = nullptr;
    session_ = model_.NewSession();
    context_ = {.tokens = AnyTokens(length_ + 1, model_.vocab_size())};
    BANYAN_RETURN_IF_ERROR(
        session_->Prefill(absl::MakeConstSpan(context_.tokens)
                              .first(context_.tokens.size() - 1)));
    const RoundPlan plan = {.judge = JudgeKind::kGreedy,
                            .target_rule = SamplingRule({.temperature = 0}),
                            .least_rows = tokens_};
    const DeviceRounds* const rounds = model_.facets().device_rounds;
    if (rounds == nullptr || !rounds->by_default()) return Run();
    auto round = rounds->NewDeviceRound(*session_, plan, {});
    if (absl::IsUnimplemented(round.status())) return Run();
    BANYAN_RETURN_IF_ERROR(round.status());
    // Nearer the context's end there are no such rounds.
    if (length_ + 1 + kUntilRecorded > (*round)->longest_text()) return Run();
    round_ = *std::move(round);
    BANYAN_RETURN_IF_ERROR(round_->Begin(context_));
    for (int i = 0; i < kUntilRecorded; ++i) BANYAN_RETURN_IF_ERROR(Run());
    return absl::OkStatus();
  }

  absl::StatusOr<double> Time(const Clock& clock) {
    if (round_ != nullptr && (session_->length() - length_ > kGrowth ||
                              session_->length() + 1 > round_->longest_text()))
      BANYAN_RETURN_IF_ERROR(Begin());
    BANYAN_RETURN_IF_ERROR(model_.Finish());
    const std::int64_t start = clock.NowNs();
    BANYAN_RETURN_IF_ERROR(Run());
    return static_cast<double>(clock.NowNs() - start) / 1e6;
  }

 private:
  static constexpr int kUntilRecorded = 3;
  static constexpr int kGrowth = 64;

  absl::Status Run() {
    if (round_ != nullptr) {
      DeviceRound* const round = round_.get();
      BANYAN_ASSIGN_OR_RETURN(
          const RoundsFound found,
          model_.facets().device_rounds->RunRounds({&round, 1}));
      return found.front().status();
    }
    const TokenBatch batch = TokenBatch::Chain(
        AnyTokens(tokens_, model_.vocab_size()), session_->length());
    BANYAN_RETURN_IF_ERROR(ScoreOne(model_, *session_, batch).status());
    BANYAN_RETURN_IF_ERROR(model_.Finish());
    return session_->Commit({});
  }

  const Model& model_;
  const int length_;
  const int tokens_;
  Context context_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<DeviceRound> round_;  // null: the host runs them
};

// Null: the device does not know its limits, or has no memory for finding out.
absl::StatusOr<std::unique_ptr<Gauge>> MakeGauge(Backend& backend,
                                                 std::size_t bytes,
                                                 const Clock& clock) {
  auto gauge = backend.NewGauge(bytes, clock);
  if (absl::IsUnimplemented(gauge.status()) ||
      absl::IsResourceExhausted(gauge.status()))
    return nullptr;
  return gauge;
}

// Bytes a second; 0 for a model that is in memory.
absl::StatusOr<double> DiskBandwidth(const Model& model, const Clock& clock) {
  if (model.facts().disk_bytes == 0) return 0;
  const std::int64_t start = clock.NowNs();
  BANYAN_ASSIGN_OR_RETURN(const std::uint64_t bytes, model.ReadFromDisk());
  return 1e9 * static_cast<double>(bytes) /
         static_cast<double>(std::max<std::int64_t>(clock.NowNs() - start, 1));
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

std::optional<double> PassTiming::median_share(const PassWork& work) const {
  std::vector<double> shares;
  for (const TimedPass& pass : passes) {
    if (pass.bandwidth == 0 || pass.peak == 0) return std::nullopt;
    const double disk = pass.disk > 0 ? work.disk_bytes / pass.disk : 0;
    shares.push_back(1e3 *
                     std::max({work.bytes / pass.bandwidth, disk,
                               work.operations / pass.peak}) /
                     pass.ms);
  }
  return Median(shares);
}

std::optional<double> PassTiming::median_bandwidth_share(double bytes) const {
  return median_share({.bytes = bytes});
}

double PassTiming::median_disk() const {
  std::vector<double> values;
  for (const TimedPass& pass : passes) values.push_back(pass.disk);
  return Median(std::move(values));
}

std::vector<Cliff> Cliffs(const std::vector<PassTiming>& timings) {
  std::vector<Cliff> cliffs;
  for (std::size_t i = 1; i < timings.size(); ++i) {
    const PassTiming& before = timings[i - 1];
    const PassTiming& after = timings[i];
    if (before.context != after.context || before.tokens >= after.tokens)
      continue;
    const double more = static_cast<double>(after.tokens) / before.tokens;
    if (after.least_ms() > more * before.median_ms())
      cliffs.push_back({after.context, before.tokens, after.tokens,
                        after.median_ms() / before.median_ms()});
  }
  return cliffs;
}

absl::StatusOr<std::vector<PassTiming>> TimePasses(
    const Model& model, Backend& backend, const TimingOptions& options,
    const Clock& clock, absl::FunctionRef<void(int done, int all)> progress) {
  BANYAN_RETURN_IF_ERROR(CheckSizes(model, options));
  std::vector<PassTiming> timings;
  std::vector<std::unique_ptr<Passes>> passes;  // by timing
  for (int context : options.contexts) {
    for (int tokens : options.batches) {
      timings.push_back({.context = context, .tokens = tokens});
      passes.push_back(std::make_unique<Passes>(model, context, tokens));
      BANYAN_RETURN_IF_ERROR(passes.back()->Begin());
    }
  }
  const ModelFacts facts = model.facts();
  std::unique_ptr<Gauge> gauge;
  if (options.read_limits) {
    BANYAN_ASSIGN_OR_RETURN(
        gauge, MakeGauge(backend, std::min(facts.streamed_bytes, kLargestProbe),
                         clock));
  }
  const auto agreed = [&options](double ms) {
    return options.agree ? options.agree(ms) : absl::StatusOr<double>(ms);
  };
  int done = 0;
  double before_ms = 0;  // of the previous pass
  double timed_ms = 0;
  for (int round = 0; round < options.rounds; ++round) {
    if (round >= kLeastRounds && timed_ms >= options.enough_ms) break;
    for (std::size_t i = 0; i < timings.size(); ++i) {
      TimedPass pass;
      if (gauge != nullptr) {
        BANYAN_ASSIGN_OR_RETURN(pass.bandwidth, gauge->ReadBandwidth());
        BANYAN_ASSIGN_OR_RETURN(pass.peak, gauge->Peak(facts.format));
      }
      if (options.read_limits) {
        BANYAN_ASSIGN_OR_RETURN(pass.disk, DiskBandwidth(model, clock));
      }
      // The gauge leaves other numbers in the caches than the pass before a
      // pass does when decoding, so passes run first. Without a gauge the
      // previous pass counts.
      for (double warm = options.read_limits ? 0 : before_ms; warm < kWarmMs;) {
        BANYAN_ASSIGN_OR_RETURN(const double ms, passes[i]->Time(clock));
        BANYAN_ASSIGN_OR_RETURN(const double one, agreed(ms));
        warm += one;
      }
      BANYAN_ASSIGN_OR_RETURN(pass.ms, passes[i]->Time(clock));
      BANYAN_ASSIGN_OR_RETURN(before_ms, agreed(pass.ms));
      timed_ms += before_ms;
      timings[i].passes.push_back(pass);
      progress(++done, options.rounds * static_cast<int>(timings.size()));
    }
  }
  return timings;
}

absl::StatusOr<std::vector<GatherTiming>> TimeGathers(
    const Model& model, MeteredCommunicator& ranks,
    const TimingOptions& options, const Clock& clock) {
  BANYAN_RETURN_IF_ERROR(CheckSizes(model, options));
  const double others =
      static_cast<double>(ranks.size() - 1) / static_cast<double>(ranks.size());
  std::vector<GatherTiming> timings;
  for (int context : options.contexts) {
    for (int tokens : options.batches) {
      Passes passes(model, context, tokens);
      BANYAN_RETURN_IF_ERROR(passes.Begin());
      GatherTiming& timing = timings.emplace_back(
          GatherTiming{.context = context, .tokens = tokens});
      std::vector<double> compute, wait, gather;
      for (int round = 0; round < options.rounds; ++round) {
        const GatherTotals before = ranks.totals();
        ranks.TellApart(true);
        const absl::StatusOr<double> ms = passes.Time(clock);
        ranks.TellApart(false);
        BANYAN_RETURN_IF_ERROR(ms.status());
        const GatherTotals& after = ranks.totals();
        wait.push_back(static_cast<double>(after.wait_ns - before.wait_ns) /
                       1e6);
        gather.push_back(
            static_cast<double>(after.gather_ns - before.gather_ns) / 1e6);
        compute.push_back(*ms - wait.back() - gather.back());
        timing.gathers = after.gathers - before.gathers;
        timing.received_bytes =
            others * static_cast<double>(after.bytes - before.bytes);
      }
      timing.compute_ms = Median(std::move(compute));
      timing.wait_ms = Median(std::move(wait));
      timing.gather_ms = Median(std::move(gather));
    }
  }
  return timings;
}

}  // namespace banyan
