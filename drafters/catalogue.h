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
#include "drafters/heads/head_doctor.h"
#include "drafters/heads/head_growth.h"
#include "drafters/workbench.h"
#include "tree/draft_tree.h"

namespace banyan {

struct DrafterRow {
  absl::string_view name;
  absl::string_view sentence;
  std::vector<DraftLaw> laws;
  // Reads all keys but `name`.
  absl::StatusOr<std::unique_ptr<Drafter>> (*build)(ParamsReader& in,
                                                    Workbench& bench);
  // Sections that conformance builds, in YAML; a model named `draft`, models of
  // other vocabularies named `fewer`, `more` and `others`, heads named `heads`,
  // a head named `head`, an index named `index`, and a file of counts beside
  // them exist.
  std::vector<absl::string_view> examples;
  // The key under which `models` of a method file names its folder, such as
  // `heads`; empty: it has none.
  absl::string_view folder_key = {};
  // Heads that can grow with their target; null: it has none.
  OpenGrowableHeads growable = nullptr;
  // What says whether heads are read as they were meant; null: nothing does.
  ExamineHead examine = nullptr;
  // What it is to a device that runs rounds alone (Drafter::OnDevice); empty:
  // nothing.
  absl::string_view twin = {};
  // What a run tells of its heads; null: nothing.
  DescribeHead describe = nullptr;
};

absl::Span<const DrafterRow> DrafterCatalogue();

// The folder keys of all rows, each once.
std::vector<absl::string_view> DrafterFolderKeys();

// The name of the drafter that a section describes, with those of the drafters
// it is made of: "cascade(small_model, ngram)".
std::string DrafterTitle(const Params& section);

// The most drafters that one is made of, itself counted.
inline constexpr int kMostDrafters = 64;

// Builds the drafter a section describes: `name` and the drafter's own keys.
// Fails with InvalidArgument, at the section's place, if a key is wrong or it
// is made of more than kMostDrafters.
absl::StatusOr<std::unique_ptr<Drafter>> BuildDrafter(const Params& section,
                                                      Workbench& bench);

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_CATALOGUE_H_
