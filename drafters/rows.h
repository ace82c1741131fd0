// The rows of the drafters: each is defined in the folder of its drafter, and
// listed by the catalogue.
#ifndef BANYAN_DRAFTERS_ROWS_H_
#define BANYAN_DRAFTERS_ROWS_H_

#include "drafters/row.h"

namespace banyan {

DrafterRow CascadeRow();
DrafterRow HybridRow();
DrafterRow OrElseRow();
DrafterRow RelayRow();
DrafterRow EagleRow();
DrafterRow MedusaRow();
DrafterRow PassRow();
DrafterRow CommonTokensRow();
DrafterRow RetokenizedRow();
DrafterRow SmallModelRow();
DrafterRow EarlyExitRow();
DrafterRow LookaheadRow();
DrafterRow SkipRow();
DrafterRow TriforceRow();
DrafterRow BigramRow();
DrafterRow CopyRow();
DrafterRow NGramRow();
DrafterRow RandomRow();
DrafterRow RecyclingRow();
DrafterRow ReferenceRow();
DrafterRow RestRow();
DrafterRow SamRow();
DrafterRow SuffixRow();
DrafterRow TrieRow();
DrafterRow UnigramRow();

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_ROWS_H_
