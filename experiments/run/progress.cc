#include "experiments/run/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <iostream>

#include "core/base/common.h"
#include "core/terminal/columns.h"
#include "experiments/metrics/round_figures.h"
#include "experiments/records/record_set.h"

namespace banyan {

std::string DurationText(double seconds) {
  const int whole = static_cast<int>(seconds + 0.5);
  if (whole < 60) return absl::StrFormat("%d s", whole);
  if (whole < 3600)
    return absl::StrFormat("%d:%02d min", whole / 60, whole % 60);
  return absl::StrFormat("%d:%02d h", whole / 3600, whole / 60 % 60);
}

namespace {

constexpr int kBarWidth = 30;
constexpr int kNameColumns = 20;

}  // namespace

RunProgress::RunProgress(const records::Context& context,
                         const Options& options)
    : context_(context),
      out_(options.out),
      clock_(options.clock),
      terminal_(options.terminal),
      start_ns_(options.clock.NowNs()) {}

void RunProgress::Add(const records::PromptRecord& record, bool fresh) {
  work_[{record.cell(), record.prompt()}] = {
      static_cast<double>(RoundsNs(record)),
      static_cast<double>(record.tokens_size()),
      static_cast<double>(record.rounds_size())};
  if (fresh) ++fresh_;
}

std::string RunProgress::Bar(int done, int all) const {
  const int filled = all == 0 ? kBarWidth : kBarWidth * done / all;
  const double seconds = static_cast<double>(clock_.NowNs() - start_ns_) / 1e9;
  const double left = fresh_ == 0 ? 0 : seconds / fresh_ * (all - done);
  return absl::StrFormat(
      "[%s%s] %d of %d, %s, %s left",
      std::string(static_cast<std::size_t>(filled), '#'),
      std::string(static_cast<std::size_t>(kBarWidth - filled), '.'), done, all,
      DurationText(seconds), DurationText(left));
}

// A line a method, over all its cells: where a prompt's baseline is there too,
// what that took counts.
std::vector<std::string> RunProgress::Table() const {
  std::vector<std::string> names;
  std::map<std::string, Work> total;
  std::map<std::string, std::pair<double, double>> paired;  // baseline, own
  for (const auto& [key, work] : work_) {
    const records::Cell& cell = context_.cells(static_cast<int>(key.first));
    if (IsRepeat(cell)) continue;
    const std::string& name = cell.method();
    if (total.count(name) == 0) names.push_back(name);
    Work& sum = total[name];
    sum.ns += work.ns;
    sum.tokens += work.tokens;
    sum.rounds += work.rounds;
    const auto base = work_.find({cell.baseline(), key.second});
    if (base == work_.end() || base->second.tokens == 0) continue;
    paired[name].first += base->second.ns / base->second.tokens * work.tokens;
    paired[name].second += work.ns;
  }
  std::vector<std::string> lines = {
      absl::StrFormat("%s %12s %13s %9s", Padded("method", kNameColumns),
                      "ms a token", "tokens per pass", "speed")};
  for (const std::string& name : names) {
    const Work& sum = total[name];
    const auto& [base, own] = paired[name];
    lines.push_back(absl::StrFormat(
        "%s %12.3f %13.2f %9s", Padded(Visible(name), kNameColumns),
        sum.ns / 1e6 / std::max(sum.tokens, 1.0),
        sum.tokens / std::max(sum.rounds, 1.0),
        own > 0 ? absl::StrFormat("%.2f", base / own) : "-"));
  }
  return lines;
}

void RunProgress::Show(int done, int all) {
  if (!terminal_) {
    const int tenths = all == 0 ? 10 : 10 * done / all;
    if (tenths > tenths_) out_ << Bar(done, all) << "\n" << std::flush;
    tenths_ = std::max(tenths_, tenths);
    return;
  }
  if (lines_ > 0) out_ << "\033[" << lines_ << "A";
  std::vector<std::string> lines = Table();
  lines.push_back(Bar(done, all));
  for (const std::string& line : lines) out_ << "\r\033[K" << line << "\n";
  lines_ = static_cast<int>(lines.size());
  out_ << std::flush;
}

void RunProgress::Finish() { lines_ = 0; }

namespace {

constexpr double kQuietS = 2;

}  // namespace

StepProgress::StepProgress(Options options)
    : options_(std::move(options)), start_ns_(options_.clock.NowNs()) {}

StepProgress::StepProgress(std::string doing, const Clock& clock)
    : StepProgress(Options{.doing = std::move(doing),
                           .clock = clock,
                           .out = std::cerr,
                           .terminal = isatty(STDERR_FILENO) == 1}) {}

StepProgress::~StepProgress() {
  if (wipe_) options_.out << "\r\033[K" << std::flush;
}

void StepProgress::Show(int done, int all) {
  const double seconds =
      static_cast<double>(options_.clock.NowNs() - start_ns_) / 1e9;
  if (seconds < kQuietS || done == 0) return;
  const int tenths = 10 * done / all;
  if (!options_.terminal && tenths <= tenths_) return;
  tenths_ = tenths;
  const std::string line =
      absl::StrCat(options_.doing, ": ", done, " of ", all, ", ",
                   DurationText(seconds / done * (all - done)), " left");
  if (options_.terminal)
    options_.out << "\r\033[K" << line << std::flush;
  else
    options_.out << "banyan: " << line << "\n" << std::flush;
  wipe_ = options_.terminal;
}

namespace {

volatile std::sig_atomic_t g_came = 0;

void Remember(int) { g_came = 1; }

}  // namespace

StopSignal::StopSignal() : before_() {
  g_came = 0;
  struct sigaction action = {};
  action.sa_handler = Remember;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGUSR1, &action, &before_);
}

StopSignal::~StopSignal() { sigaction(SIGUSR1, &before_, nullptr); }

bool StopSignal::came() const { return g_came != 0; }

}  // namespace banyan
