// Names of a cell's target and of kinds of draws; kinds of cells.
#ifndef BANYAN_EXPERIMENTS_RECORDS_CELL_NAMES_H_
#define BANYAN_EXPERIMENTS_RECORDS_CELL_NAMES_H_

#include <string>

#include "absl/strings/ascii.h"
#include "experiments/records/record.pb.h"

namespace banyan {

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

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_RECORDS_CELL_NAMES_H_
