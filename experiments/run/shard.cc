#include "experiments/run/shard.h"

#include <cstdint>
#include <utility>

#include "core/base/messages.h"
#include "experiments/plan/resolve.h"
#include "experiments/records/record_set.h"

namespace banyan {

// What no method of an experiment may be called.
static_assert(absl::string_view(kPlainAgain) == kPlainRepeated);

void RepeatPlain(PreparedRun& run) {
  const std::size_t all = run.cells.size();
  for (std::size_t i = 0; i < all; ++i) {
    if (run.cells[i].description.baseline() != i) continue;
    PreparedCell repeat = run.cells[i];
    records::Cell& description = repeat.description;
    // The axes follow the method.
    description.set_name(absl::StrCat(
        kPlainAgain, description.name().substr(description.method().size())));
    description.set_method(kPlainAgain);
    run.cells.push_back(std::move(repeat));
  }
}

bool IsThinned(const PreparedCell& cell) {
  return IsRepeat(cell.description) && (cell.batch > 1 || !cell.memory.empty());
}

namespace {

// Whether a cell is the baseline of another that is no repeat of it.
std::vector<bool> Baselines(const PreparedRun& run) {
  std::vector<bool> baselines(run.cells.size());
  for (std::size_t i = 0; i < run.cells.size(); ++i) {
    const std::size_t baseline = run.cells[i].description.baseline();
    if (baseline != i && !IsRepeat(run.cells[i].description))
      baselines[baseline] = true;
  }
  return baselines;
}

}  // namespace

absl::StatusOr<Shard> ReadShard(const std::string& text, records::Cut cut) {
  const std::pair<std::string, std::string> parts =
      absl::StrSplit(text, absl::MaxSplits('/', 1));
  Shard shard = {.cut = cut};
  if (!absl::SimpleAtoi(parts.first, &shard.number) ||
      !absl::SimpleAtoi(parts.second, &shard.count) || shard.count < 1 ||
      shard.number < 0 || shard.number >= shard.count)
    return absl::InvalidArgumentError(absl::StrCat(
        "--shard: expected I/N with I from 0 to N - 1, found '", text, "'"));
  return shard;
}

records::Cut CutNamed(absl::string_view name) {
  return name == kCutCells ? records::CELLS : records::PROMPTS;
}

absl::string_view NameOf(records::Cut cut) {
  return cut == records::CELLS ? kCutCells : kCutPrompts;
}

Share::Share(const PreparedRun& run, const Shard& shard)
    : shard_(shard), parts_(run.cells.size(), Part::kNone) {
  const bool by_prompts = shard.cut == records::PROMPTS;
  const std::vector<bool> baselines = Baselines(run);
  if (by_prompts)
    for (std::size_t i = 0; i < parts_.size(); ++i)
      if (!run.cells[i].carries_state) parts_[i] = Part::kEveryNth;
  int number = 0;  // of cells that one shard has whole
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (by_prompts ? !run.cells[i].carries_state
                   : baselines[i] || IsRepeat(run.cells[i].description))
      continue;
    if (number++ % shard.count != shard.number) continue;
    parts_[i] = Part::kAll;
    parts_[run.cells[i].description.baseline()] = Part::kAll;
  }
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const PreparedCell& cell = run.cells[i];
    if (!by_prompts && IsRepeat(cell.description))
      parts_[i] = parts_[cell.description.baseline()];
    thinned_.push_back(IsThinned(cell));
  }
}

bool Share::Has(std::size_t cell, std::size_t unit) const {
  const auto count = static_cast<std::size_t>(shard_.count);
  const bool nth = parts_[cell] == Part::kEveryNth;
  if (thinned_[cell] && (nth ? unit / count : unit) % kThinned != 0)
    return false;
  return nth ? unit % count == static_cast<std::size_t>(shard_.number)
             : parts_[cell] == Part::kAll;
}

int CountRecords(const PreparedRun& run, const Shard& shard) {
  const Share share(run, shard);
  const std::vector<std::vector<std::size_t>> units = run.Units();
  int records = 0;
  for (std::size_t cell = 0; cell < run.cells.size(); ++cell)
    for (std::size_t unit = 0; unit < units.size(); ++unit)
      if (share.Has(cell, unit))
        for (std::size_t place : units[unit])
          records += run.prompts[place].turns();
  return records;
}

std::vector<std::string> CellsThatCarry(const PreparedRun& run) {
  std::vector<std::string> names;
  for (const PreparedCell& cell : run.cells)
    if (cell.carries_state) names.push_back(cell.description.name());
  return names;
}

absl::Status CheckShards(const PreparedRun& run, const Shard& shard) {
  std::size_t most = run.Units().size();
  std::string what = Counted(static_cast<std::int64_t>(most), "prompt");
  std::string hint = "; to divide the cells instead, give --cut cells";
  if (most < run.prompts.size())
    what = absl::StrCat(most, most == 1 ? " batch" : " batches");
  if (shard.cut == records::CELLS) {
    most = run.cells.size();
    for (const bool is_baseline : Baselines(run)) most -= is_baseline ? 1 : 0;
    for (const PreparedCell& cell : run.cells)
      most -= IsRepeat(cell.description) ? 1 : 0;
    what = absl::StrCat(Counted(static_cast<std::int64_t>(most), "cell"),
                        " beside the baselines");
    hint = "";
  }
  if (static_cast<std::size_t>(shard.count) <= most || shard.count == 1)
    return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("expected at most ", most, " shards, found ", shard.count,
                   ": the experiment has ", what, hint));
}

}  // namespace banyan
