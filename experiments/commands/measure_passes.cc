// How long passes of a model take, and what bounds them.
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/base/common.h"
#include "core/base/messages.h"
#include "core/device/ranks/communicator.h"
#include "core/json/json_value.h"
#include "core/model/model.h"
#include "experiments/commands/measure.h"
#include "experiments/commands/shared/model_options.h"
#include "experiments/loading/model_shelf.h"
#include "experiments/plan/costs.h"
#include "experiments/plan/opponents.h"
#include "experiments/records/machine.h"
#include "experiments/records/record.pb.h"
#include "experiments/run/run_file.h"
#include "experiments/timing/pass_timing.h"

namespace banyan {
namespace {

// What was measured, with what it is held against.
struct Measured {
  std::string grown_note;
  std::string grown_from;  // empty: not grown
  std::string device;
  std::string backend;
  std::string weights;
  std::vector<KeptMatrix> matrices = {};
  records::Machine machine;     // before the first pass
  PassWork token;               // of one token
  std::size_t cache_bytes = 0;  // of a token in the KV cache
  std::size_t activation_bytes = 0;
  std::vector<PassTiming> timings;
  // Of a model that several ranks share.
  int ranks = 1;
  int nodes = 1;
  std::string link;
  PassGathers formula;
  std::optional<LinkSpeed> speed;  // of an emulated link
  std::vector<GatherTiming> gathers;
  GatherTotals totals;
};

// The time of a pass's gathers by the formula: a gather of all bytes, and the
// others as if they had none.
double FormulaMs(const Measured& measured, int tokens) {
  const auto seconds = [&](double bytes) {
    return GatherSeconds(*measured.speed, measured.ranks,
                         static_cast<std::size_t>(bytes));
  };
  return 1e3 * (seconds(tokens * measured.formula.row_bytes) +
                (measured.formula.gathers - 1) * seconds(0));
}

// The bytes that a rank receives in a pass by the formula.
double FormulaBytes(const Measured& measured, int tokens) {
  return tokens * measured.formula.row_bytes * (measured.ranks - 1) /
         measured.ranks;
}

// One token's time at the same context, or 0 if it was not measured.
double OneToken(const Measured& measured, int context) {
  for (const PassTiming& timing : measured.timings)
    if (timing.context == context && timing.tokens == 1)
      return timing.median_ms();
  return 0;
}

PassWork Work(const Measured& measured, const PassTiming& timing) {
  PassWork work = measured.token;
  work.operations *= timing.tokens;
  return work;
}

// Medians over all readings.
TimedPass MedianGauge(const Measured& measured) {
  std::vector<double> bandwidths;
  std::vector<double> peaks;
  std::vector<double> disks;
  for (const PassTiming& timing : measured.timings)
    for (const TimedPass& pass : timing.passes) {
      bandwidths.push_back(pass.bandwidth);
      peaks.push_back(pass.peak);
      disks.push_back(pass.disk);
    }
  return {0, Median(std::move(bandwidths)), Median(std::move(peaks)),
          Median(std::move(disks))};
}

// The rows of a pass whose arithmetic takes as long as reading from disk;
// nothing where that is not known.
std::optional<double> FreeRows(const Measured& measured) {
  const TimedPass gauge = MedianGauge(measured);
  if (gauge.disk == 0 || gauge.peak == 0) return std::nullopt;
  return measured.token.disk_bytes / gauge.disk * gauge.peak /
         measured.token.operations;
}

// The readings of the disk in their order: the last are faster than the first
// where something below the program keeps what was read.
bool LooksCached(const Measured& measured) {
  std::vector<double> first;
  std::vector<double> last;
  for (const PassTiming& timing : measured.timings) {
    first.push_back(timing.passes.front().disk);
    last.push_back(timing.passes.back().disk);
  }
  constexpr double kFaster = 1.5;
  return Median(std::move(last)) > kFaster * Median(std::move(first));
}

// Null for a limit that the device does not know.
JsonValue Known(double limit) {
  return limit > 0 ? JsonValue(limit) : JsonValue();
}

JsonValue MatricesToJson(const std::vector<KeptMatrix>& matrices) {
  JsonValue rows = JsonValue::List();
  for (const KeptMatrix& matrix : matrices)
    rows.Add({{"name", matrix.name}, {"format", Name(matrix.format)}});
  return rows;
}

JsonValue GathersToJson(const Measured& measured) {
  JsonValue rows = JsonValue::List();
  for (const GatherTiming& timing : measured.gathers)
    rows.Add(
        {{"context", timing.context},
         {"tokens", timing.tokens},
         {"compute_ms", timing.compute_ms},
         {"gather_ms", timing.gather_ms},
         {"wait_ms", timing.wait_ms},
         {"gathers", timing.gathers},
         {"gathers_by_formula", measured.formula.gathers},
         {"received_bytes", timing.received_bytes},
         {"received_bytes_by_formula", FormulaBytes(measured, timing.tokens)},
         {"gather_ms_by_formula",
          measured.speed.has_value()
              ? JsonValue(FormulaMs(measured, timing.tokens))
              : JsonValue()}});
  return rows;
}

JsonValue ToJson(const MeasureOptions& options, const Measured& measured) {
  JsonValue rows = JsonValue::List();
  for (const PassTiming& timing : measured.timings) {
    JsonValue passes = JsonValue::List();
    for (const TimedPass& pass : timing.passes)
      passes.Add({{"ms", pass.ms},
                  {"bytes_per_s", Known(pass.bandwidth)},
                  {"operations_per_s", Known(pass.peak)},
                  {"disk_bytes_per_s", Known(pass.disk)}});
    rows.Add({{"context", timing.context},
              {"tokens", timing.tokens},
              {"median_ms", timing.median_ms()},
              {"least_ms", timing.least_ms()},
              {"most_ms", timing.most_ms()},
              {"share_of_bandwidth",
               timing.median_bandwidth_share(measured.token.bytes)},
              {"share_of_limit", timing.median_share(Work(measured, timing))},
              {"passes", passes}});
  }
  return {{"model", options.model.spec.directory},
          {"grown_from", NullIfEmpty(measured.grown_from)},
          {"weights", measured.weights},
          {"matrices", MatricesToJson(measured.matrices)},
          {"device", measured.device},
          {"load", measured.machine.load()},
          {"cores", measured.machine.cores()},
          {"backend", measured.backend},
          {"bytes", measured.token.bytes},
          {"disk_bytes", measured.token.disk_bytes},
          {"cache_bytes_per_token", measured.cache_bytes},
          {"activation_bytes", measured.activation_bytes},
          {"free_rows", FreeRows(measured)},
          {"operations_per_token", measured.token.operations},
          {"timings", rows},
          {"ranks", measured.ranks},
          {"nodes", measured.nodes},
          {"link", NullIfEmpty(measured.link)},
          {"gathers", GathersToJson(measured)},
          {"all_gathers", measured.totals.gathers},
          {"all_gathered_bytes", measured.totals.bytes}};
}

std::string Percent(std::optional<double> share) {
  return share.has_value() ? absl::StrFormat("%.0f", 100 * *share) : "-";
}

// Whether something ran faster than the limits that were read beside it.
bool IsAboveLimits(const Measured& measured) {
  const auto above = [](std::optional<double> share) {
    return share.value_or(0) > 1;
  };
  return std::any_of(
      measured.timings.begin(), measured.timings.end(),
      [&](const PassTiming& timing) {
        return above(timing.median_bandwidth_share(measured.token.bytes)) ||
               above(timing.median_share(Work(measured, timing)));
      });
}

// First of all, since it decides what the figures are worth.
void PrintDisturbance(const Measured& measured) {
  if (IsOverloaded(measured.machine))
    std::cout << absl::StreamFormat(
        "BUSY: the load was %.1f on %d cores; other programs slow passes and "
        "limits\n\n",
        measured.machine.load(), measured.machine.cores());
  else if (IsAboveLimits(measured))
    std::cout << "DISTURBED: limits were read while something slowed them, "
                 "since some passes\nexceed them\n\n";
}

// "q4_k of 95 matrices, q8 of 26": where there are several formats.
std::string FormatsText(const std::vector<KeptMatrix>& matrices) {
  std::map<WeightFormat, int> counts;
  for (const KeptMatrix& matrix : matrices) ++counts[matrix.format];
  if (counts.size() < 2) return "";
  std::vector<std::string> texts;
  for (const auto& [format, count] : counts)
    texts.push_back(absl::StrCat(Name(format), " of ", count));
  return absl::StrCat(" (", absl::StrJoin(texts, ", "), " matrices)");
}

void PrintHead(const MeasureOptions& options, const Measured& measured) {
  PrintDisturbance(measured);
  std::cout << absl::StreamFormat(
      "%s%s, %s%s, %s\n%.1f MB of weights and %.3g operations a token%s; ",
      options.model.spec.directory, measured.grown_note, measured.weights,
      FormatsText(measured.matrices), measured.backend,
      measured.token.bytes / 1e6, measured.token.operations,
      measured.ranks > 1 ? " on rank 0" : "");
  const TimedPass gauge = MedianGauge(measured);
  if (gauge.bandwidth > 0)
    std::cout << absl::StreamFormat(
        "this device reads %.1f GB/s\nand makes %.0f G operations/s of that "
        "kind (medians beside the passes)\n",
        gauge.bandwidth / 1e9, gauge.peak / 1e9);
  else
    std::cout
        << "this device does not know\nits limits, so there are no shares "
           "of them\n";
  if (measured.token.disk_bytes == 0) return;
  std::cout << absl::StreamFormat(
      "%.1f MB of them are read from disk in every pass, at %.2f GB/s alone",
      measured.token.disk_bytes / 1e6, gauge.disk / 1e9);
  if (const std::optional<double> rows = FreeRows(measured); rows.has_value())
    std::cout << absl::StreamFormat(";\n%.0f rows multiply in that time",
                                    *rows);
  std::cout << (LooksCached(measured)
                    ? "\nlater readings were faster: something below this "
                      "program keeps the file in memory\n"
                    : "\n");
  std::cout << absl::StreamFormat(
      "beside the bound on memory: a KV cache of %.1f kB for each token and\n"
      "%.1f MB of activations\n",
      static_cast<double>(measured.cache_bytes) / 1e3,
      static_cast<double>(measured.activation_bytes) / 1e6);
}

// Beside the table of passes, which have no such exchanges.
void PrintGathers(const Measured& measured) {
  std::cout << absl::StreamFormat(
      "\n%d ranks on %s (%s). Rank 0 in passes with one more exchange before "
      "every gather,\nwhich tells waiting for other ranks from gathering:\n",
      measured.ranks, Counted(measured.nodes, "machine"), measured.link);
  int context = -1;
  for (const GatherTiming& timing : measured.gathers) {
    if (timing.context != context) {
      context = timing.context;
      std::cout << absl::StreamFormat(
          "\ncontext %d\n%7s %12s %10s %10s %8s %12s %12s %12s\n", context,
          "tokens", "compute ms", "gather ms", "wait ms", "gathers",
          "MB received", "by formula", "ms by it");
    }
    std::cout << absl::StreamFormat(
        "%7d %12.3f %10.3f %10.3f %8d %12.3f %12.3f %12s\n", timing.tokens,
        timing.compute_ms, timing.gather_ms, timing.wait_ms, timing.gathers,
        timing.received_bytes / 1e6,
        FormulaBytes(measured, timing.tokens) / 1e6,
        measured.speed.has_value()
            ? absl::StrFormat("%.3f", FormulaMs(measured, timing.tokens))
            : "-");
  }
  std::cout << absl::StreamFormat(
      "\nby formula: %d gathers per pass of %s each;\na rank receives %.1f kB "
      "per token on average\n",
      measured.formula.gathers, Counted(GatherSteps(measured.ranks), "step"),
      FormulaBytes(measured, 1) / 1e3);
}

void PrintText(const MeasureOptions& options, const Measured& measured) {
  PrintHead(options, measured);
  int context = -1;
  for (const PassTiming& timing : measured.timings) {
    if (timing.context != context) {
      context = timing.context;
      std::cout << absl::StreamFormat(
          "\ncontext %d\n%7s %10s %21s %7s %8s %11s %10s\n", context, "tokens",
          "ms", "least .. most", "of 1", "GB/s", "bandwidth %", "limit %");
    }
    const double ms = timing.median_ms();
    const double one = OneToken(measured, context);
    std::cout << absl::StreamFormat(
        "%7d %10.3f %10.3f..%9.3f %7s %8.1f %11s %10s\n", timing.tokens, ms,
        timing.least_ms(), timing.most_ms(),
        one > 0 ? absl::StrFormat("%.2f", ms / one) : "-",
        measured.token.bytes / ms / 1e6,
        Percent(timing.median_bandwidth_share(measured.token.bytes)),
        Percent(timing.median_share(Work(measured, timing))));
  }
  for (const Cliff& cliff : Cliffs(measured.timings))
    std::cout << absl::StreamFormat(
        "a cliff at context %d: %d tokens take %.2f times as long as %d\n",
        cliff.context, cliff.tokens, cliff.times, cliff.before);
  std::cout
      << "\nbandwidth %: the time that reading the weights takes, of the "
         "pass. limit %: the\nlonger of reading and multiplying, of the pass. "
         "What this machine reads and\nmultiplies at most was measured just "
         "before each pass.\n";
  if (measured.ranks > 1) PrintGathers(measured);
}

// The curve of each context.
absl::Status WritePasses(const MeasureOptions& options,
                         const Measured& measured) {
  Costs costs;
  for (const PassTiming& timing : measured.timings) {
    if (costs.passes.empty() || costs.passes.back().context != timing.context) {
      PassCosts& passes = costs.passes.emplace_back();
      passes.setting = {.target = FolderName(options.model.spec.directory),
                        .weights = measured.weights,
                        .memory = options.model.spec.memory};
      passes.context = timing.context;
    }
    costs.passes.back().ms[timing.tokens] = timing.median_ms();
  }
  return WriteCosts(std::move(costs), measured.machine,
                    absl::StrCat("banyan measure --model ",
                                 FolderName(options.model.spec.directory),
                                 measured.grown_note, ", medians of ",
                                 Counted(options.timing.rounds, "round")),
                    options.out);
}

void ShowProgress(int done, int all) {
  std::cerr << "\rmeasuring " << done << "/" << all << std::flush;
  if (done == all) std::cerr << "\r\033[K";
}

}  // namespace

absl::Status MeasurePasses(const MeasureOptions& options) {
  const SteadyClock clock;
  BANYAN_ASSIGN_OR_RETURN(SharedShelf opened,
                          OpenSharedShelf(options.model, clock));
  const RankGroup& ranks = opened.ranks;
  ModelShelf& shelf = opened.shelf;
  TimingOptions timing = options.timing;
  if (ranks.control != nullptr)
    timing.agree = [&](double ms) { return Agree(*ranks.control, ms); };
  BANYAN_ASSIGN_OR_RETURN(const LoadedModel loaded,
                          shelf.OpenTarget(options.model.spec));
  BANYAN_RETURN_IF_ERROR(RanksAreReady(ranks));
  const bool terminal = isatty(STDERR_FILENO) == 1;
  const Model& model = *loaded.model;
  const ModelFacts facts = model.facts();
  Measured measured = {
      .grown_note = GrownNote(model),
      .grown_from = std::string(model.grown_from()),
      .device = facts.device,
      .backend = facts.backend,
      .weights = std::string(Name(facts.format)),
      .matrices = facts.matrices,
      .machine = DescribeMachine(shelf.backend(), ranks.model.get()),
      .token = {.bytes = static_cast<double>(facts.streamed_bytes),
                .disk_bytes = static_cast<double>(facts.disk_bytes),
                .operations = facts.operations_per_token},
      .cache_bytes = CacheBytesPerToken(model)};
  BANYAN_ASSIGN_OR_RETURN(
      measured.timings,
      TimePasses(model, shelf.backend(), timing, clock, [&](int done, int all) {
        if (terminal) ShowProgress(done, all);
      }));
  measured.activation_bytes = model.facts().activation_bytes;
  if (ranks.model != nullptr) {
    measured.ranks = ranks.model->size();
    measured.nodes = ranks.model->nodes();
    measured.link = ranks.model->link();
    measured.formula = GathersOf(model);
    if (!options.model.ranks.link.empty()) {
      BANYAN_ASSIGN_OR_RETURN(measured.speed,
                              ReadLinkSpeed(options.model.ranks.link));
    }
    BANYAN_ASSIGN_OR_RETURN(measured.gathers,
                            TimeGathers(model, *ranks.model, timing, clock));
    measured.totals = ranks.model->totals();
  }
  BANYAN_RETURN_IF_ERROR(FinishRanks(ranks));
  if (!ranks.writes()) return absl::OkStatus();
  if (options.json)
    std::cout << ToJson(options, measured).Text(2) << "\n";
  else
    PrintText(options, measured);
  return options.out.empty() ? absl::OkStatus()
                             : WritePasses(options, measured);
}

}  // namespace banyan
