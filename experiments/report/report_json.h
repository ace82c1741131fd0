// A report as one JSON document, which the page shows.
#ifndef BANYAN_EXPERIMENTS_REPORT_REPORT_JSON_H_
#define BANYAN_EXPERIMENTS_REPORT_REPORT_JSON_H_

#include "experiments/records/record_set.h"
#include "experiments/report/report.h"
#include "experiments/report/token_texts.h"
#include "nlohmann/json.hpp"

namespace banyan {

// docs/formats.md has the fields. `samples` prompts of every cell are in it.
// Context, question and experiment are those of the first file.
nlohmann::ordered_json ToJson(const RecordSet& set, const Report& report,
                              int samples, TokenTexts& texts);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_REPORT_REPORT_JSON_H_
