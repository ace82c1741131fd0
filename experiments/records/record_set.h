// Record files read together: the shards of one experiment, or several
// experiments side by side.
#ifndef BANYAN_EXPERIMENTS_RECORDS_RECORD_SET_H_
#define BANYAN_EXPERIMENTS_RECORDS_RECORD_SET_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "experiments/records/prompt_pair.h"
#include "experiments/records/record.pb.h"
#include "experiments/records/record_file.h"

namespace banyan {

// Files whose machine and build are alike in all that times depend on.
struct MachineFiles {
  std::string label;  // "1"; machines are numbered in the order of the files
  const records::Context* context = nullptr;  // of its first file
  std::vector<std::string> paths;
};

// What all files say of one cell.
struct CellRecords {
  // The cell's name, followed by the beginning of the experiment's hash if two
  // experiments have cells of one name.
  std::string name;
  std::string baseline;  // that name of its baseline; empty: it is its own
  const records::Context* context = nullptr;  // of the experiment's first file
  const records::Cell* cell = nullptr;
  std::vector<PromptPair> pairs;  // by number of the prompt
  // The end of the name, of a cell that was split: ", machine=1, kind=edit".
  std::string split = {};
};

// Movable; the cells point into the files.
struct RecordSet {
  RecordSet() = default;
  RecordSet(RecordSet&&) = default;
  RecordSet& operator=(RecordSet&&) = default;

  std::vector<RecordFile> files;  // at least one, in the order of their names
  std::vector<MachineFiles> machines;  // that the files were made on
  std::vector<CellRecords> cells;      // experiment by experiment
  std::vector<CellRecords> repeats;    // of baselines (IsRepeat), in no table
  // Of cells that were split, or lost a claim: made here, in no file.
  std::vector<std::unique_ptr<records::Cell>> own_cells;
  // A sentence for each thing a reader of the numbers should know: torn tails,
  // shards and prompts that are missing, machines that differ.
  std::vector<std::string> warnings;
  // That a machine was loaded, in a sentence; empty if none was.
  std::string loaded;
  // A sentence for each cell whose texts refute its claim to be lossless. Cells
  // and prompts left out of the set later do not change these.
  std::vector<std::string> refuted;

  // The cell of this name, or null.
  const CellRecords* Find(const std::string& name) const;
  // The cell of this number in the experiment of `cell`, split as `cell` is; or
  // null.
  const CellRecords* Find(const CellRecords& cell, std::uint32_t number) const;
};

// The ending of record files.
inline constexpr char kRecordEnding[] = ".banyan";

// Reads files, and of directories the files that end in .banyan. In a
// directory, a file that ends before its context is passed over with a warning.
// Fails as ReadRecordFile; if a directory has no record file; if a prompt of a
// cell that is no baseline is recorded twice; if shards of one experiment read
// different files or were cut in different ways; and, unless `mixed`, if the
// files are of different experiments. Errors name the files.
//
// A record is paired with the baseline's of its own file or else of its
// machine. A baseline has one pair for each prompt and machine.
absl::StatusOr<RecordSet> ReadRecordSet(const std::vector<std::string>& paths,
                                        bool mixed);

// Leaves only the prompts of a kind. Fails, naming the kinds there are, if
// there is none.
absl::Status KeepKind(const std::string& kind, RecordSet& set);

// Puts a cell for each kind of its prompts in the place of every cell, with the
// axis `kind` after its others.
void SplitByKind(RecordSet& set);

// The same for machines, with the axis `machine`, if any cell was recorded on
// several; else nothing. Returns whether it split: times of unlike machines
// cannot be added up.
bool SplitByMachine(RecordSet& set);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_RECORDS_RECORD_SET_H_
