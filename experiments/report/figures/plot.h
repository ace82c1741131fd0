// A plot as data, as an SVG file and as a table of its numbers.
#ifndef BANYAN_EXPERIMENTS_REPORT_FIGURES_PLOT_H_
#define BANYAN_EXPERIMENTS_REPORT_FIGURES_PLOT_H_

#include <cstddef>
#include <string>
#include <vector>

#include "experiments/metrics/estimate.h"

namespace banyan {

struct Plot {
  struct Point {
    Estimate x;  // without an interval where x is no measurement
    Estimate y;
    std::string label;
  };
  struct Series {
    std::string name;
    std::vector<Point> points;
    std::size_t colour = 0;
    std::size_t shape = 0;
    bool hollow = false;  // its points are outlines
    bool line = false;    // joins its points
  };
  enum class Guide {
    kNone,
    kOne,      // the line y = 1
    kDiagonal  // the line y = x
  };

  std::string title;
  std::string x_title;
  std::string y_title;
  std::vector<Series> series;  // what matters most first
  Guide guide = Guide::kNone;
  // y is a share: its axis goes from 0 to 1 at most, and cuts intervals there.
  bool share = false;
  bool whole_x = false;  // x counts something
  bool x_from_zero = false;
  // Points are bars of shares, y, one for each label; x counts for nothing.
  bool stacked = false;
};

// Series that a drawing shows at first.
inline constexpr std::size_t kMostSeries = 8;

// Draws the plot for white paper: points with 95 % intervals, the legend below.
// Series after the first `most` are left out, and counted below the legend.
// Requires a point, and finite numbers.
std::string ToSvg(const Plot& plot, std::size_t most = kMostSeries);

// Returns a line for each point: series, label, x, x_low, x_high, y, y_low,
// y_high. Fields of missing intervals are empty.
std::string ToCsv(const Plot& plot);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_REPORT_FIGURES_PLOT_H_
