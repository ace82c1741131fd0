// A summary as one JSON document, which the page shows.
#ifndef BANYAN_EXPERIMENTS_REPORT_PAGE_PAGE_JSON_H_
#define BANYAN_EXPERIMENTS_REPORT_PAGE_PAGE_JSON_H_

#include <cstddef>
#include <string>
#include <vector>

#include "core/json/json_value.h"
#include "experiments/records/record_set.h"
#include "experiments/report/figures/plot.h"
#include "experiments/report/page/token_texts.h"
#include "experiments/report/summary.h"

namespace banyan {

struct PageOptions {
  int samples = 2;                   // prompts of every cell, with their rounds
  std::size_t series = kMostSeries;  // of a plot, at most
};

// docs/formats.md has the fields. Context, question and experiment are those of
// the first file.
JsonValue ToJson(const RecordSet& set, const Summary& summary,
                 const PageOptions& options, TokenTexts& texts);

// Decoded prompts as the report's page draws them: the text by where each token
// came from, and the trees of the rounds.

// The first `count` prompts of a cell, as JSON; docs/formats.md has the fields.
std::vector<JsonValue> Samples(const CellRecords& cell, int count,
                               TokenTexts& texts);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_REPORT_PAGE_PAGE_JSON_H_
