// The part of an experiment that one process runs.
#ifndef BANYAN_EXPERIMENTS_RUN_SHARD_H_
#define BANYAN_EXPERIMENTS_RUN_SHARD_H_

#include <cstddef>
#include <string>
#include <vector>

#include "core/base/common.h"
#include "experiments/records/record.pb.h"
#include "experiments/run/prepared_cells.h"
#include "experiments/run/prepared_run.h"

namespace banyan {

// Adds a second run of plain decoding: an A/A pair, whose difference is noise.

// Adds after the other cells, for every baseline, a cell that repeats it
// (records/record_set.h).
void RepeatPlain(PreparedRun& run);

// Where a plain pass is dear (weights on disk, several prompts at a time) the
// repeat has every third unit.
inline constexpr std::size_t kThinned = 3;
bool IsThinned(const PreparedCell& cell);

struct Shard {
  int number = 0;  // from 0
  int count = 1;
  records::Cut cut = records::PROMPTS;
};

// "I/N", from the command line.
absl::StatusOr<Shard> ReadShard(const std::string& text, records::Cut cut);

inline constexpr char kCutPrompts[] = "prompts";
inline constexpr char kCutCells[] = "cells";
// Of one of these two names.
records::Cut CutNamed(absl::string_view name);
absl::string_view NameOf(records::Cut cut);

// What a shard decodes, by cell and unit (PreparedRun::Units):
//
// - cut by prompts: every Nth unit of every cell, but a cell that carries state
//   has all its units in one shard, together with its baseline;
// - cut by cells: all units of every Nth cell, together with its baseline;
// - a baseline's repeat goes with it, and may be thinned.
class Share {
 public:
  Share(const PreparedRun& run, const Shard& shard);

  bool Has(std::size_t cell, std::size_t unit) const;

 private:
  enum class Part { kNone, kEveryNth, kAll };

  Shard shard_;
  std::vector<Part> parts_;    // by cell
  std::vector<bool> thinned_;  // by cell
};

// The records that a shard has in the end.
int CountRecords(const PreparedRun& run, const Shard& shard);

// The cells that carry state from prompt to prompt, by name.
std::vector<std::string> CellsThatCarry(const PreparedRun& run);

// Fails if some shard would have nothing to do, naming the number that makes
// sense.
absl::Status CheckShards(const PreparedRun& run, const Shard& shard);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_RUN_SHARD_H_
