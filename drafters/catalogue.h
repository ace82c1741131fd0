// The drafters, by name.
#ifndef BANYAN_DRAFTERS_CATALOGUE_H_
#define BANYAN_DRAFTERS_CATALOGUE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/base/params.h"
#include "drafters/drafter.h"
#include "drafters/row.h"
#include "drafters/workbench.h"

namespace banyan {

absl::Span<const DrafterRow> DrafterCatalogue();

// Adds parts from outside the project to the catalogue (AppendRows). Call it
// before anything reads the catalogue.
void AddDrafters(absl::Span<const DrafterRow> rows);

// The folder keys of all rows, each once.
std::vector<absl::string_view> DrafterFolderKeys();

// The name of the drafter that a section describes, with those of the drafters
// it is made of: "cascade(small_model, ngram)".
std::string DrafterTitle(const Params& section);

// The most drafters that one is made of, itself counted.
inline constexpr int kMostDrafters = 64;

// The keys that a row's drafter reads, `name` aside.
std::vector<KeyRow> KeysOf(const DrafterRow& row, Workbench& bench);

// Builds the drafter a section describes: `name` and the drafter's own keys.
// Fails with InvalidArgument, at the section's place, if a key is wrong or it
// is made of more than kMostDrafters.
absl::StatusOr<std::unique_ptr<Drafter>> BuildDrafter(const Params& section,
                                                      Workbench& bench);

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_CATALOGUE_H_
