#include "experiments/records/record_set.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include "absl/functional/function_ref.h"
#include "core/base/messages.h"
#include "experiments/records/machine.h"

namespace banyan {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kShownOfHash = 8;

// One experiment's files, and their records by cell and prompt.
struct Experiment {
  std::vector<const RecordFile*> files;
  struct Found {
    const records::PromptRecord* record;
    const RecordFile* file;
  };
  // Several of a prompt only of a baseline, in the order of the files.
  using FoundByPrompt = std::map<std::uint32_t, std::vector<Found>>;
  std::vector<FoundByPrompt> cells;

  const records::Context& context() const { return files.front()->context; }
};

absl::StatusOr<std::vector<std::string>> FilesIn(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error))
    if (it->path().extension() == kRecordEnding)
      files.push_back(it->path().string());
  if (error)
    return absl::InvalidArgumentError(
        absl::StrCat(folder, ": ", error.message()));
  if (files.empty())
    return absl::NotFoundError(
        absl::StrCat(folder, ": has no record file (*", kRecordEnding, ")"));
  std::sort(files.begin(), files.end());
  return files;
}

absl::Status ReadFolder(const std::string& folder, RecordSet& set) {
  BANYAN_ASSIGN_OR_RETURN(const std::vector<std::string> paths,
                          FilesIn(folder));
  for (const std::string& path : paths) {
    absl::StatusOr<RecordFile> file = ReadRecordFile(path);
    if (absl::IsDataLoss(file.status())) {
      set.warnings.emplace_back(file.status().message());
      continue;
    }
    if (!file.ok()) return file.status();
    set.files.push_back(*std::move(file));
  }
  return absl::OkStatus();
}

absl::Status ReadPaths(const std::vector<std::string>& paths, RecordSet& set) {
  for (const std::string& path : paths) {
    std::error_code ignored;  // reading the file will say what is wrong
    if (fs::is_directory(path, ignored)) {
      BANYAN_RETURN_IF_ERROR(ReadFolder(path, set));
      continue;
    }
    BANYAN_ASSIGN_OR_RETURN(RecordFile file, ReadRecordFile(path));
    set.files.push_back(std::move(file));
  }
  if (set.files.empty())
    return absl::DataLossError(absl::StrJoin(set.warnings, "\n"));
  std::stable_sort(
      set.files.begin(), set.files.end(),
      [](const RecordFile& a, const RecordFile& b) { return a.path < b.path; });
  return absl::OkStatus();
}

std::vector<std::string> CellNames(const records::Context& context) {
  std::vector<std::string> names;
  for (const records::Cell& cell : context.cells())
    names.push_back(cell.name());
  return names;
}

// Whether the cell is the baseline of another.
bool IsBaseline(const records::Context& context, std::uint32_t cell) {
  for (int other = 0; other < context.cells_size(); ++other)
    if (static_cast<std::uint32_t>(other) != cell &&
        context.cells(other).baseline() == cell)
      return true;
  return false;
}

// Adds a file to its experiment.
absl::Status AddFile(const RecordFile& file, Experiment& experiment) {
  if (experiment.files.empty())
    experiment.cells.resize(
        static_cast<std::size_t>(file.context.cells_size()));
  else if (CellNames(file.context) != CellNames(experiment.context()))
    return absl::InvalidArgumentError(
        absl::StrCat(file.path, " and ", experiment.files.front()->path,
                     ": one experiment, but other cells"));
  else if (!SameCosts(file.context, experiment.context()))
    return absl::InvalidArgumentError(
        absl::StrCat(file.path, " and ", experiment.files.front()->path,
                     ": one experiment, but other measured costs, which choose "
                     "the cells"));
  else if (file.context.shards() > 1 && experiment.context().shards() > 1 &&
           file.context.cut() != experiment.context().cut())
    return absl::InvalidArgumentError(
        absl::StrCat(file.path, " and ", experiment.files.front()->path,
                     ": one experiment, cut into shards by prompts and by "
                     "cells"));
  else if (const std::string other =
               FirstDifferingFile(file.context, experiment.context());
           !other.empty())
    return absl::InvalidArgumentError(
        absl::StrCat(file.path, " was made with another ", other, " than ",
                     experiment.files.front()->path));
  experiment.files.push_back(&file);
  for (const records::PromptRecord& record : file.prompts) {
    std::vector<Experiment::Found>& found =
        experiment.cells[record.cell()][record.prompt()];
    const records::Cell& cell =
        file.context.cells(static_cast<int>(record.cell()));
    if (!found.empty() && !IsBaseline(file.context, record.cell()) &&
        !IsRepeat(cell))
      return absl::InvalidArgumentError(absl::StrCat(
          file.path, ": prompt ", record.prompt(), " of cell '", cell.name(),
          "' is recorded already, in ", found.front().file->path));
    found.push_back({&record, &file});
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Experiment>> Experiments(const RecordSet& set,
                                                    bool mixed) {
  std::vector<Experiment> experiments;
  std::map<std::string, std::size_t> numbers;  // by hash
  for (const RecordFile& file : set.files) {
    const auto [place, is_new] =
        numbers.try_emplace(file.context.experiment_hash(), experiments.size());
    if (is_new) experiments.emplace_back();
    if (experiments.size() > 1 && !mixed)
      return absl::InvalidArgumentError(absl::StrCat(
          set.files.front().path, " and ", file.path,
          ": different experiments (", set.files.front().context.question(),
          " | ", file.context.question(), "); --mixed puts them side by side"));
    BANYAN_RETURN_IF_ERROR(AddFile(file, experiments[place->second]));
  }
  return experiments;
}

// Names of cells by experiment and cell, no two alike.
std::vector<std::vector<std::string>> UniqueNames(
    const std::vector<Experiment>& experiments) {
  std::map<std::string, int> uses;
  for (const Experiment& experiment : experiments)
    for (const std::string& name : CellNames(experiment.context()))
      ++uses[name];
  std::vector<std::vector<std::string>> names;
  for (const Experiment& experiment : experiments) {
    names.push_back(CellNames(experiment.context()));
    for (std::string& name : names.back())
      if (uses[name] > 1)
        absl::StrAppend(
            &name, "@",
            experiment.context().experiment_hash().substr(0, kShownOfHash));
  }
  return names;
}

// The machine of every file, which it adds to the set's if it is new.
std::map<const RecordFile*, std::size_t> AddMachines(RecordSet& set) {
  std::map<const RecordFile*, std::size_t> machine_of;
  for (const RecordFile& file : set.files) {
    auto machine = std::find_if(
        set.machines.begin(), set.machines.end(),
        [&file](const MachineFiles& other) {
          return MachineDifferences(*other.context, file.context).empty();
        });
    if (machine == set.machines.end())
      machine = set.machines.insert(
          machine, {.label = absl::StrCat(set.machines.size() + 1),
                    .context = &file.context});
    machine->paths.push_back(file.path);
    machine_of[&file] =
        static_cast<std::size_t>(machine - set.machines.begin());
  }
  return machine_of;
}

// The baseline's record of the same file, or else of another file of the same
// machine; null if no file has one.
const Experiment::Found* BaselineOf(
    const Experiment::Found& found,
    const std::vector<Experiment::Found>& baselines,
    const std::map<const RecordFile*, std::size_t>& machine_of) {
  const Experiment::Found* best = nullptr;
  for (const Experiment::Found& baseline : baselines) {
    if (baseline.file == found.file) return &baseline;
    if (best == nullptr &&
        machine_of.at(baseline.file) == machine_of.at(found.file))
      best = &baseline;
  }
  return best;
}

// A baseline that several files of one machine have counts once.
void AddCells(const Experiment& experiment,
              const std::vector<std::string>& names,
              const std::map<const RecordFile*, std::size_t>& machine_of,
              RecordSet& set) {
  std::size_t apart = 0;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const records::Cell& cell = experiment.context().cells(static_cast<int>(i));
    CellRecords records = {
        .name = names[i], .context = &experiment.context(), .cell = &cell};
    if (cell.baseline() != i) records.baseline = names[cell.baseline()];
    const auto& baselines = experiment.cells[cell.baseline()];
    for (const auto& [prompt, all] : experiment.cells[i]) {
      std::set<std::size_t> machines;
      for (const Experiment::Found& found : all) {
        const std::size_t machine = machine_of.at(found.file);
        if (!machines.insert(machine).second) continue;
        const auto baseline = baselines.find(prompt);
        const Experiment::Found* const held_against =
            baseline == baselines.end()
                ? nullptr
                : BaselineOf(found, baseline->second, machine_of);
        if (held_against == nullptr && baseline != baselines.end() &&
            !IsRepeat(cell))
          ++apart;
        records.pairs.push_back({.cell = &cell,
                                 .record = found.record,
                                 .baseline = held_against == nullptr
                                                 ? nullptr
                                                 : held_against->record,
                                 .machine = machine});
      }
    }
    (IsRepeat(cell) ? set.repeats : set.cells).push_back(std::move(records));
  }
  if (apart > 0)
    set.warnings.push_back(absl::StrCat(
        Counted(static_cast<std::int64_t>(apart), "record"),
        " not paired with the baseline's: that was recorded on another "
        "machine"));
}

// "0, 2 to 5, 7" of ascending numbers.
std::string Ranges(const std::vector<std::uint32_t>& numbers) {
  std::vector<std::string> parts;
  for (std::size_t i = 0, end = 0; i < numbers.size(); i = end) {
    end = i + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    parts.push_back(absl::StrCat(numbers[i]));
    if (end - i == 2) parts.push_back(absl::StrCat(numbers[end - 1]));
    if (end - i > 2) absl::StrAppend(&parts.back(), " to ", numbers[end - 1]);
  }
  return absl::StrJoin(parts, ", ");
}

void WarnOfShards(const Experiment& experiment,
                  std::vector<std::string>& warnings) {
  const records::Context& context = experiment.context();
  std::map<std::uint32_t, std::size_t> here;  // records
  for (const RecordFile* file : experiment.files)
    here[file->context.shard()] += file->prompts.size();
  std::vector<std::uint32_t> missing;
  std::vector<std::uint32_t> empty;
  for (std::uint32_t i = 0; i < context.shards(); ++i) {
    if (here.count(i) == 0)
      missing.push_back(i);
    else if (here[i] == 0)
      empty.push_back(i);
  }
  const auto warn = [&](const std::vector<std::uint32_t>& shards,
                        absl::string_view of_one,
                        absl::string_view of_several) {
    if (shards.empty()) return;
    const bool one = shards.size() == 1;
    warnings.push_back(absl::StrCat(one ? "shard " : "shards ", Ranges(shards),
                                    " of ", context.shards(),
                                    one ? of_one : of_several));
  };
  warn(missing, " is not among the files", " are not among the files");
  warn(empty, " has no record yet", " have no record yet");
  if (context.cut() == records::CELLS && context.shards() > 1)
    warnings.push_back(
        absl::StrCat("the cells were divided among ", context.shards(),
                     " shards, each of which repeated plain decoding for its "
                     "cells; cells of different shards were not interleaved"));
}

// Warns of the first file, and counts the others of the same kind.
void WarnOnce(const std::vector<std::string>& of_files,
              std::vector<std::string>& warnings) {
  if (of_files.empty()) return;
  warnings.push_back(of_files.front());
  if (of_files.size() > 1)
    absl::StrAppend(
        &warnings.back(), "; the same holds for ",
        Counted(static_cast<std::int64_t>(of_files.size() - 1), "more file"));
}

void WarnOfMachines(RecordSet& set) {
  const auto text = [](const MachineFiles& machine) {
    return absl::StrCat(absl::StrJoin(machine.paths, ", "), " (machine ",
                        machine.label, ")");
  };
  const MachineFiles& first = set.machines.front();
  for (std::size_t i = 1; i < set.machines.size(); ++i)
    set.warnings.push_back(absl::StrCat(
        text(set.machines[i]), " and ", text(first), ": times are not alike (",
        absl::StrJoin(
            MachineDifferences(*set.machines[i].context, *first.context), "; "),
        ")"));
  std::vector<std::string> busy;
  std::vector<std::string> fast;
  for (const RecordFile& file : set.files) {
    const records::Machine& machine = file.context.machine();
    if (IsOverloaded(machine))
      busy.push_back(absl::StrCat(file.path, ": ", OverloadText(machine)));
    if (machine.fast())
      fast.push_back(absl::StrCat(
          file.path,
          ": was made with --fast: what shares a pass changes last bits, so "
          "greedy texts of a method may differ from plain decoding's"));
  }
  std::vector<std::string> loaded;
  WarnOnce(busy, loaded);
  if (!loaded.empty()) set.loaded = loaded.front();
  WarnOnce(fast, set.warnings);
}

void WarnOfPrompts(const Experiment& experiment,
                   const std::vector<std::string>& names,
                   std::vector<std::string>& warnings) {
  const std::size_t all = experiment.context().workload().prompts();
  std::map<std::size_t, std::vector<std::string>> short_of;  // by count
  for (std::size_t i = 0; i < names.size(); ++i)
    if (experiment.cells[i].size() < all &&
        !IsRepeat(experiment.context().cells(static_cast<int>(i))))
      short_of[experiment.cells[i].size()].push_back(names[i]);
  for (const auto& [count, cells] : short_of)
    warnings.push_back(absl::StrCat(count, " of ", all,
                                    " prompts are recorded for ",
                                    absl::StrJoin(cells, ", ")));
}

using ValueOf = absl::FunctionRef<std::string(const PromptPair& pair)>;

std::vector<CellRecords> Split(const std::string& axis_name, ValueOf value_of,
                               const std::vector<CellRecords>& all,
                               RecordSet& set) {
  std::vector<CellRecords> cells;
  for (const CellRecords& whole : all) {
    std::map<std::string, std::vector<PromptPair>> by_value;
    for (const PromptPair& pair : whole.pairs)
      by_value[value_of(pair)].push_back(pair);
    for (auto& [value, pairs] : by_value) {
      const std::string suffix = absl::StrCat(", ", axis_name, "=", value);
      auto cell = std::make_unique<records::Cell>(*whole.cell);
      cell->set_name(cell->name() + suffix);
      records::Axis& axis = *cell->add_axes();
      axis.set_name(axis_name);
      axis.set_value(value);
      cells.push_back(
          {.name = whole.name + suffix,
           .baseline = whole.baseline.empty() ? "" : whole.baseline + suffix,
           .context = whole.context,
           .cell = cell.get(),
           .pairs = std::move(pairs),
           .split = whole.split + suffix});
      set.own_cells.push_back(std::move(cell));
    }
  }
  return cells;
}

// Puts a cell for each value of a new axis in the place of every cell.
void SplitBy(const std::string& axis_name, ValueOf value_of, RecordSet& set) {
  set.cells = Split(axis_name, value_of, set.cells, set);
  set.repeats = Split(axis_name, value_of, set.repeats, set);
}

}  // namespace

const CellRecords* RecordSet::Find(const std::string& name) const {
  for (const CellRecords& cell : cells)
    if (cell.name == name) return &cell;
  return nullptr;
}

const CellRecords* RecordSet::Find(const CellRecords& cell,
                                   std::uint32_t number) const {
  const std::string name =
      cell.context->cells(static_cast<int>(number)).name() + cell.split;
  for (const CellRecords& other : cells)
    if (other.context == cell.context && other.cell->name() == name)
      return &other;
  return nullptr;
}

absl::StatusOr<RecordSet> ReadRecordSet(const std::vector<std::string>& paths,
                                        bool mixed) {
  RecordSet set;
  BANYAN_RETURN_IF_ERROR(ReadPaths(paths, set));
  for (const RecordFile& file : set.files)
    if (file.torn_bytes > 0)
      set.warnings.push_back(
          absl::StrCat(file.path, ": ends in a torn entry (", file.torn_bytes,
                       " bytes), which is left out: the run was stopped"));
  BANYAN_ASSIGN_OR_RETURN(const std::vector<Experiment> experiments,
                          Experiments(set, mixed));
  const std::map<const RecordFile*, std::size_t> machine_of = AddMachines(set);
  WarnOfMachines(set);
  const std::vector<std::vector<std::string>> names = UniqueNames(experiments);
  for (std::size_t i = 0; i < experiments.size(); ++i) {
    AddCells(experiments[i], names[i], machine_of, set);
    WarnOfShards(experiments[i], set.warnings);
    WarnOfPrompts(experiments[i], names[i], set.warnings);
  }
  WithdrawRefutedClaims(set);
  WarnOfRepeats(set);
  return set;
}

absl::Status KeepKind(const std::string& kind, RecordSet& set) {
  std::set<std::string> kinds;
  for (std::vector<CellRecords>* cells : {&set.cells, &set.repeats})
    for (CellRecords& cell : *cells) {
      std::vector<PromptPair> kept;
      for (const PromptPair& pair : cell.pairs) {
        kinds.insert(pair.record->kind());
        if (pair.record->kind() == kind) kept.push_back(pair);
      }
      cell.pairs = std::move(kept);
    }
  if (kinds.count(kind) > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("no prompt is of the kind '",
                                                 kind, "'; there are ",
                                                 absl::StrJoin(kinds, ", ")));
}

void SplitByKind(RecordSet& set) {
  SplitBy(
      "kind", [](const PromptPair& pair) { return pair.record->kind(); }, set);
}

bool SplitByMachine(RecordSet& set) {
  const bool several = std::any_of(
      set.cells.begin(), set.cells.end(), [](const CellRecords& cell) {
        return std::any_of(cell.pairs.begin(), cell.pairs.end(),
                           [&cell](const PromptPair& pair) {
                             return pair.machine != cell.pairs.front().machine;
                           });
      });
  if (several)
    SplitBy(
        "machine",
        [&set](const PromptPair& pair) {
          return set.machines[pair.machine].label;
        },
        set);
  return several;
}

}  // namespace banyan
