// The drafters, by name.
#ifndef BANYAN_DRAFTERS_CATALOGUE_H_
#define BANYAN_DRAFTERS_CATALOGUE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "core/base/common.h"
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

// The names of `models` that drafters read, each once: those of all sections in
// `value`, however deep.
std::vector<std::string> ModelsOf(const Params& value);

// Where the path of the folder of a name of `models` stands; null: it has none.
using PlaceOfFolder = absl::FunctionRef<const Params*(const std::string& name)>;

// The section of a drafter with the key `vocabulary` if it may have it, leaves
// it out, and its model's folder has the file (draft_vocabulary.h). Sections in
// it stay as they are.
Params WithVocabulary(const Params& section, PlaceOfFolder place_of);

// What a drafter that takes a vocabulary drafts.
struct DraftedTokens {
  std::string model;  // its name in `models`
  std::string file;   // that lists the tokens; empty: all that the model has
  int tokens = 0;     // in the file
};
// Those of a section that was built with the bench, and of the sections in it,
// in their order. Fails if a file was not read.
absl::StatusOr<std::vector<DraftedTokens>> DraftedTokensOf(
    const Params& section, Workbench& bench);

// The most drafters that one is made of, itself counted.
inline constexpr int kMostDrafters = 64;

// Builds the drafter a section describes: `name` and the drafter's own keys.
// Fails with InvalidArgument, at the section's place, if a key is wrong or it
// is made of more than kMostDrafters.
absl::StatusOr<std::unique_ptr<Drafter>> BuildDrafter(const Params& section,
                                                      Workbench& bench);

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_CATALOGUE_H_
