#include "experiments/run/repeats.h"

#include <cstddef>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "experiments/plan/resolve.h"
#include "experiments/records/cell_names.h"
#include "experiments/records/record.pb.h"
#include "experiments/run/prepared_cells.h"
#include "experiments/run/prepared_run.h"

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

}  // namespace banyan
