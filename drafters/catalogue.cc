#include "drafters/catalogue.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/base/catalogue.h"
#include "core/base/params.h"
#include "core/base/status_macros.h"
#include "drafters/bigram/bigram.h"
#include "drafters/copy/copy.h"
#include "drafters/drafter.h"
#include "drafters/eagle/doctor.h"
#include "drafters/eagle/eagle.h"
#include "drafters/eagle/growth.h"
#include "drafters/medusa/growth.h"
#include "drafters/medusa/medusa.h"
#include "drafters/ngram/ngram.h"
#include "drafters/random/random.h"
#include "drafters/small_model/small_model.h"
#include "drafters/unigram/unigram.h"
#include "drafters/workbench.h"
#include "tree/draft_tree.h"

namespace banyan {

absl::Span<const DrafterRow> DrafterCatalogue() {
  static const auto& every =
      *new std::vector<DraftLaw>(kEveryLaw.begin(), kEveryLaw.end());
  static const auto& rows = *new std::vector<DrafterRow>{
      {"small_model",
       "A language model of the target's vocabulary with its own cache.",
       every,
       SmallModel::Build,
       {"{model: draft}"},
       /*folder_key=*/{},
       /*growable=*/nullptr,
       /*examine=*/nullptr,
       "model"},
      {"medusa",
       "Heads on the target's last hidden state, one a depth; no pass of its "
       "own.",
       every,
       Medusa::Build,
       {"{heads: heads}"},
       "heads",
       OpenGrowableMedusa,
       /*examine=*/nullptr,
       "heads"},
      {"eagle",
       "A network on the target's hidden states that feeds itself: EAGLE of "
       "every version, and multi-token prediction.",
       every,
       Eagle::Build,
       {"{head: head}"},
       "heads",
       OpenGrowableEagle,
       ExamineEagle,
       "pairs",
       DescribeEagle},
      {"ngram",
       "What followed the last tokens earlier in the text, by its counts.",
       every,
       NGram::Build,
       {"{}", "{max_order: 3, history: 4}",
        "{max_order: 2, history: 0, sampling: {temperature: 0.5}}"}},
      {"copy",
       "Copies what came after the longest match of the last tokens.",
       {DraftLaw::kDeterministic},
       Copy::Build,
       {"{}", "{min_match: 1, max_match: 3, history: 5}"}},
      {"random",
       "Every token alike: what a drafter that knows nothing costs.",
       every,
       Random::Build,
       {"{}"}},
      {"unigram",
       "How often each token stands in a file of counts.",
       every,
       Unigram::Build,
       {"{counts: counts.safetensors}",
        "{counts: counts.safetensors, sampling: {temperature: 0}}"}},
      {"bigram",
       "How often each token follows the last one in a file of counts.",
       every,
       Bigram::Build,
       {"{counts: counts.safetensors}",
        "{counts: counts.safetensors, sampling: {temperature: 0.5}}"}},
  };
  return rows;
}

std::vector<absl::string_view> DrafterFolderKeys() {
  std::vector<absl::string_view> keys;
  for (const DrafterRow& row : DrafterCatalogue()) {
    const bool known =
        std::find(keys.begin(), keys.end(), row.folder_key) != keys.end();
    if (!row.folder_key.empty() && !known) keys.push_back(row.folder_key);
  }
  return keys;
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
