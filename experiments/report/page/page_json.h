// A summary as one JSON document, which the page shows.
#ifndef BANYAN_EXPERIMENTS_REPORT_PAGE_PAGE_JSON_H_
#define BANYAN_EXPERIMENTS_REPORT_PAGE_PAGE_JSON_H_

#include "core/json/json_value.h"
#include "experiments/records/record_set.h"
#include "experiments/report/page/token_texts.h"
#include "experiments/report/summary.h"

namespace banyan {

// docs/formats.md has the fields. `samples` prompts of every cell are in it.
// Context, question and experiment are those of the first file.
JsonValue ToJson(const RecordSet& set, const Summary& summary, int samples,
                 TokenTexts& texts);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_REPORT_PAGE_PAGE_JSON_H_
