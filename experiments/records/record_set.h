// Record files read together: their cells, their prompts, and which cells bear
// out their claim to be lossless.
#ifndef BANYAN_EXPERIMENTS_RECORDS_RECORD_SET_H_
#define BANYAN_EXPERIMENTS_RECORDS_RECORD_SET_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "core/base/common.h"
#include "experiments/records/record.pb.h"
#include "experiments/records/record_file.h"

namespace banyan {

// Names of a cell's target and of kinds of draws; kinds of cells.

// The target's name, or else its directory.
inline std::string TargetName(const records::Cell& cell) {
  return cell.target().name().empty() ? cell.target().directory()
                                      : cell.target().name();
}

// The method of a cell that decodes its baseline's prompts a second time,
// without drafters as that: two times of one thing, which differ by what the
// machine does. No table has it.
inline constexpr char kPlainAgain[] = "plain_2";
inline bool IsRepeat(const records::Cell& cell) {
  return cell.trunks_size() == 0 && cell.method() == kPlainAgain;
}

// Whether its draft can branch.
inline bool IsTree(const records::Cell& cell) {
  return cell.trunks_size() > 1 ||
         (cell.trunks_size() == 1 && !cell.trunks(0).chain());
}

// "independent", "without_replacement", "deterministic".
inline std::string DrawKindName(records::DrawKind kind) {
  return absl::AsciiStrToLower(records::DrawKind_Name(kind));
}

// A prompt as a cell decoded it, beside the same prompt without drafters.

// What the rounds of both would take at costs that somebody stated.
struct StatedTimes {
  std::string costs;  // what numbers that rest on them are called by
  double ms = 0;
  double baseline_ms = 0;  // 0 without a baseline
  // Of the record's, had each drafted just what it kept; none where that cannot
  // be told.
  std::optional<double> oracle_ms = {};
};

// Owns no record.
struct PromptPair {
  const records::Cell* cell = nullptr;
  const records::PromptRecord* record = nullptr;
  // The record of the cell's baseline: `record` itself where the cell is its
  // own, null where the baseline has not decoded this prompt on this machine.
  const records::PromptRecord* baseline = nullptr;
  std::optional<StatedTimes> stated = {};
  std::size_t machine = 0;  // that it was recorded on: RecordSet::machines
};

// Record files read together: the shards of one experiment, or several
// experiments side by side.

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

// Whether texts bear out a cell's claim to be lossless.
//
// At temperature 0 a lossless method emits what plain decoding emits, token by
// token, so records decide the claim. A cell whose texts differ loses it when
// records are read: whoever reads `lossless` of a cell then reads false.

// The place of the first token that differs from plain decoding's; the number
// of tokens if none does. None where the two cannot be compared: without a
// baseline, above temperature 0, or after earlier turns that differ.
std::optional<std::size_t> FirstDifference(const PromptPair& pair);
// Whether tokens differ from plain decoding's; false if they are not compared.
bool Differs(const PromptPair& pair);

// How many texts were compared with plain decoding's, and how many differ.
struct TextCheck {
  int compared = 0;
  int differing = 0;
};
TextCheck CompareTexts(absl::Span<const PromptPair> pairs);

// Takes the word from every cell that claims to be lossless and has a text that
// differs, and from the method's other cells in its experiment; says so in
// set.refuted. Runs of --fast are left alone: there rounding may tell texts
// apart.
void WithdrawRefutedClaims(RecordSet& set);

// Warns, in the set, where plain decoding's second run gave another text than
// its first, at any temperature: both draw the same.
void WarnOfRepeats(RecordSet& set);

// Aborted, with what set.refuted says, if anything; the program then ends
// with 3.
absl::Status CheckClaims(const RecordSet& set);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_RECORDS_RECORD_SET_H_
