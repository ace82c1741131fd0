// The report's plots as files: one SVG and one CSV for each plot, target and
// temperature.
#ifndef BANYAN_EXPERIMENTS_REPORT_FIGURES_FIGURES_H_
#define BANYAN_EXPERIMENTS_REPORT_FIGURES_FIGURES_H_

#include <string>
#include <vector>

#include "core/base/common.h"
#include "core/json/json_value.h"
#include "experiments/report/figures/plot.h"
#include "experiments/report/summary.h"

namespace banyan {

struct Figure {
  // "tokens", "size", "depth", "conditional", "rank", "lengths", "predicted" or
  // "shares"
  std::string name;
  std::string target;
  double temperature = 0;
  Plot plot;
  std::string svg;
  std::string file;  // without an extension, different for each
};

// Returns the plots for which the summary has numbers, by target and
// temperature in the order of the cells. Drawings have the first `most` series.
std::vector<Figure> MakeFigures(const Summary& summary,
                                std::size_t most = kMostSeries);

// Writes FILE.svg and FILE.csv for each into `folder`, which it makes. Fails
// with the path of what cannot be written.
absl::Status WriteFigures(absl::Span<const Figure> figures,
                          const std::string& folder);

// For the page and other programs; docs/formats.md has the fields.
JsonValue ToJson(absl::Span<const Figure> figures);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_REPORT_FIGURES_FIGURES_H_
