#include "experiments/report/cell_text.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "experiments/records/record.pb.h"

namespace banyan {

bool IsWarm(const records::Cell& cell) {
  return std::any_of(
      cell.trunks().begin(), cell.trunks().end(),
      [](const records::Trunk& trunk) { return trunk.carries_state(); });
}

std::string Marks(const records::Cell& cell) {
  std::vector<std::string> marks;
  if (cell.evidence() == records::REFUTED)
    marks.push_back("NOT LOSSLESS");
  else if (!cell.lossless())
    marks.push_back("LOSSY");
  if (IsWarm(cell)) marks.push_back("warm");
  if (!cell.target().grown_from().empty())
    marks.push_back(absl::StrCat("grown (", cell.target().grown_from(), ")"));
  if (cell.target().disk_bytes() > 0)
    marks.push_back(
        absl::StrFormat("%.0f MB per pass from disk",
                        static_cast<double>(cell.target().disk_bytes()) / 1e6));
  for (const records::Model& model : cell.models())
    if (model.old_cost())
      marks.push_back(
          absl::StrCat(model.name(), " at the cost of ", model.grown_from()));
  return absl::StrJoin(marks, ", ");
}

}  // namespace banyan
