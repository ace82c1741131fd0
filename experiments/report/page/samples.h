// Decoded prompts as the report's page draws them: the text by where each token
// came from, and the trees of the rounds.
#ifndef BANYAN_EXPERIMENTS_REPORT_PAGE_SAMPLES_H_
#define BANYAN_EXPERIMENTS_REPORT_PAGE_SAMPLES_H_

#include <string>
#include <vector>

#include "core/json/json_value.h"
#include "experiments/records/record_set.h"
#include "experiments/report/page/token_texts.h"

namespace banyan {

// The first `count` prompts of a cell, as JSON; docs/formats.md has the fields.
std::vector<JsonValue> Samples(const CellRecords& cell, int count,
                               TokenTexts& texts);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_REPORT_PAGE_SAMPLES_H_
