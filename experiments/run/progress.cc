#include "experiments/run/progress.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/text/columns.h"
#include "experiments/metrics/round_figures.h"
#include "experiments/records/cell_names.h"
#include "experiments/records/record.pb.h"
#include "experiments/run/duration_text.h"

namespace banyan {
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

}  // namespace banyan
