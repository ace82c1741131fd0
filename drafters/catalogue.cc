#include "drafters/catalogue.h"

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "core/base/catalogue.h"
#include "core/base/params.h"
#include "core/base/status_macros.h"
#include "drafters/drafter.h"
#include "drafters/medusa/medusa.h"
#include "drafters/small_model/small_model.h"
#include "drafters/workbench.h"
#include "tree/draft_tree.h"

namespace banyan {

absl::Span<const DrafterRow> DrafterCatalogue() {
  static const auto& rows = *new std::vector<DrafterRow>{
      {"small_model",
       "A language model of the target's vocabulary with its own cache.",
       {DraftLaw::kIndependent, DraftLaw::kWithoutReplacement,
        DraftLaw::kDeterministic},
       SmallModel::Build,
       {"{model: draft}"}},
      {"medusa",
       "Heads on the target's last hidden state, one a depth; no pass of its "
       "own.",
       {DraftLaw::kIndependent, DraftLaw::kWithoutReplacement,
        DraftLaw::kDeterministic},
       Medusa::Build,
       {"{heads: heads}"}},
  };
  return rows;
}

absl::StatusOr<std::unique_ptr<Drafter>> BuildDrafter(const Params& section,
                                                      Workbench& bench) {
  BANYAN_ASSIGN_OR_RETURN(const DrafterRow* row,
                          FindRow(DrafterCatalogue(), "drafter", section));
  ParamsReader in(section, absl::StrCat("drafter ", row->name));
  in.Take("name");
  return row->build(in, bench);
}

}  // namespace banyan
