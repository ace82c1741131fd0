#include "experiments/report/figures/plot.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "core/base/check.h"
#include "core/text/columns.h"
#include "experiments/metrics/estimate.h"
#include "experiments/report/csv.h"

namespace banyan {
namespace {

// Lengths in px.
constexpr double kWidth = 620;
constexpr double kLeft = 64;
constexpr double kRight = 16;
constexpr double kTop = 40;
constexpr double kHeight = 300;  // of the area with the points
constexpr double kBelow = 66;    // between that area and the legend
constexpr double kLegendRow = 20;
constexpr double kCap = 3;     // half of an interval's end
constexpr double kLetter = 7;  // a letter of the legend, about
constexpr double kMarkRoom = 28;

// Told apart in grey too, by lightness and by the shapes of the points.
constexpr const char* kColours[] = {"#0072b2", "#d98e00", "#009e73",
                                    "#d55e00", "#c4669a", "#4aa8e0",
                                    "#8a7a00", "#4b3fa0", "#8b1e4f"};

std::string ColourOf(const Plot::Series& series) {
  const std::size_t number = series.colour % std::size(kColours);
  return absl::StrCat("var(--series-", number + 1, ",", kColours[number], ")");
}
constexpr std::size_t kShapes = 4;

struct Scale {
  double low = 0;
  double high = 1;
  double step = 1;
  double from = 0;  // px of `low`
  double to = 1;    // px of `high`

  double At(double value) const {
    return from + (value - low) / (high - low) * (to - from);
  }
};

// Widens the range to round bounds: 4 to 9 steps of 1, 2 or 5 times a power of
// ten.
Scale RoundScale(double low, double high) {
  if (high <= low) high = low + std::max(1.0, std::abs(low));
  const double rough = (high - low) / 6;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  Scale scale;
  scale.step = 10 * power;
  for (const double factor : {1, 2, 5})
    if (factor * power >= rough) {
      scale.step = factor * power;
      break;
    }
  scale.low = std::floor(low / scale.step + 1e-9) * scale.step;
  scale.high = std::ceil(high / scale.step - 1e-9) * scale.step;
  return scale;
}

std::pair<double, double> Ends(const Estimate& estimate) {
  if (!estimate.interval.has_value()) return {estimate.value, estimate.value};
  return {std::min(estimate.value, estimate.interval->low),
          std::max(estimate.value, estimate.interval->high)};
}

Scale ScaleOf(const Plot& plot, const Estimate Plot::Point::*which) {
  std::vector<double> found;
  for (const Plot::Series& series : plot.series)
    for (const Plot::Point& point : series.points) {
      const auto [low, high] = Ends(point.*which);
      found.insert(found.end(), {low, high});
    }
  Check(!found.empty(), "a plot without a point");
  return RoundScale(*std::min_element(found.begin(), found.end()),
                    *std::max_element(found.begin(), found.end()));
}

struct Axes {
  Scale x;
  Scale y;
};

Axes AxesOf(const Plot& plot) {
  Axes axes = {ScaleOf(plot, &Plot::Point::x), ScaleOf(plot, &Plot::Point::y)};
  if (plot.guide == Plot::Guide::kDiagonal) {
    axes.x = RoundScale(std::min(axes.x.low, axes.y.low),
                        std::max(axes.x.high, axes.y.high));
    axes.y = axes.x;
  }
  if (plot.guide == Plot::Guide::kOne)
    axes.y = RoundScale(std::min(1.0, axes.y.low), std::max(1.0, axes.y.high));
  if (plot.from_zero) axes.y = RoundScale(0, axes.y.high);
  // No point stands on the frame at a side.
  for (const Plot::Series& series : plot.series)
    for (const Plot::Point& point : series.points) {
      if (plot.guide == Plot::Guide::kDiagonal) break;
      if (point.x.value <= axes.x.low && axes.x.low != 0)
        axes.x.low -= axes.x.step;
      if (point.x.value >= axes.x.high) axes.x.high += axes.x.step;
    }
  axes.x.from = kLeft;
  axes.x.to = kWidth - kRight;
  axes.y.from = kTop + kHeight;
  axes.y.to = kTop;
  return axes;
}

std::string Xml(const std::string& text) {
  return absl::StrReplaceAll(
      Printable(text),
      {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

std::string Text(absl::string_view style, double x, double y,
                 const std::string& text, absl::string_view more = "") {
  return absl::StrFormat(
      "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\"%s>%s</text>\n", style, x, y,
      more, Xml(text));
}

std::string Line(absl::string_view style, double x1, double y1, double x2,
                 double y2, absl::string_view more = "") {
  return absl::StrFormat(
      "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" "
      "y2=\"%.1f\"%s/>\n",
      style, x1, y1, x2, y2, more);
}

// 0.30000000000000004 is written as 0.3.
std::string Tick(double value, double step) {
  const int digits =
      std::max(0, static_cast<int>(std::ceil(-std::log10(step))));
  return absl::StrFormat("%.*f", digits,
                         std::abs(value) < step / 2 ? 0 : value);
}

int Steps(const Scale& scale) {
  return static_cast<int>(std::lround((scale.high - scale.low) / scale.step));
}

std::string Frame(const Plot& plot, const Axes& axes) {
  std::string out = Text("title", kLeft, 22, plot.title);
  for (int i = 0; i <= Steps(axes.y); ++i) {
    const double value = axes.y.low + i * axes.y.step;
    const double y = axes.y.At(value);
    out += Line("grid", axes.x.from, y, axes.x.to, y);
    out += Text("tick end", kLeft - 8, y + 4, Tick(value, axes.y.step));
  }
  for (int i = 0; i <= Steps(axes.x); ++i) {
    const double value = axes.x.low + i * axes.x.step;
    const double x = axes.x.At(value);
    out += Line("grid", x, axes.y.from, x, axes.y.to);
    out += Text("tick", x, axes.y.from + 18, Tick(value, axes.x.step));
  }
  out += Text("name", (axes.x.from + axes.x.to) / 2, axes.y.from + 40,
              plot.x_title);
  const double middle = (axes.y.from + axes.y.to) / 2;
  out += Text("name", 16, middle, plot.y_title,
              absl::StrFormat(" transform=\"rotate(-90 16 %.1f)\"", middle));
  return out;
}

std::string GuideLine(const Plot& plot, const Axes& axes) {
  if (plot.guide == Plot::Guide::kNone) return "";
  const double low = plot.guide == Plot::Guide::kOne ? 1 : axes.x.low;
  const double high = plot.guide == Plot::Guide::kOne ? 1 : axes.x.high;
  return Line("guide", axes.x.from, axes.y.At(low), axes.x.to, axes.y.At(high));
}

// A point's mark: circle, square, triangle or diamond.
std::string Mark(double x, double y, const Plot::Series& series) {
  const std::string colour = ColourOf(series);
  const std::string fill =
      series.hollow
          ? absl::StrCat(" style=\"fill:var(--paper,#ffffff);stroke:", colour,
                         ";stroke-width:1.75\"")
          : absl::StrCat(" style=\"fill:", colour, "\"");
  switch (series.shape % kShapes) {
    case 0:
      return absl::StrFormat("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"5\"%s/>\n", x,
                             y, fill);
    case 1:
      return absl::StrFormat(
          "<rect x=\"%.1f\" y=\"%.1f\" width=\"9\" height=\"9\"%s/>\n", x - 4.5,
          y - 4.5, fill);
    case 2:
      return absl::StrFormat("<path d=\"M%.1f %.1fl5.5 9.5h-11z\"%s/>\n", x,
                             y - 6, fill);
    default:
      return absl::StrFormat("<path d=\"M%.1f %.1fl6 6l-6 6l-6 -6z\"%s/>\n", x,
                             y - 6, fill);
  }
}

std::string Intervals(const Plot::Point& point, const Axes& axes,
                      absl::string_view stroke) {
  const double x = axes.x.At(point.x.value);
  const double y = axes.y.At(point.y.value);
  std::string out;
  if (point.y.interval.has_value()) {
    const double low = axes.y.At(point.y.interval->low);
    const double high = axes.y.At(point.y.interval->high);
    out += Line("bar", x, low, x, high, stroke);
    for (const double end : {low, high})
      out += Line("bar", x - kCap, end, x + kCap, end, stroke);
  }
  if (point.x.interval.has_value()) {
    const double low = axes.x.At(point.x.interval->low);
    const double high = axes.x.At(point.x.interval->high);
    out += Line("bar", low, y, high, y, stroke);
    for (const double end : {low, high})
      out += Line("bar", end, y - kCap, end, y + kCap, stroke);
  }
  return out;
}

std::string Drawn(const Plot::Series& series, const Axes& axes) {
  const std::string stroke =
      absl::StrCat(" style=\"stroke:", ColourOf(series), "\"");
  std::string out;
  for (std::size_t i = 1; series.line && i < series.points.size(); ++i)
    out += Line("join", axes.x.At(series.points[i - 1].x.value),
                axes.y.At(series.points[i - 1].y.value),
                axes.x.At(series.points[i].x.value),
                axes.y.At(series.points[i].y.value), stroke);
  for (const Plot::Point& point : series.points)
    out += Intervals(point, axes, stroke);
  for (const Plot::Point& point : series.points)
    out += absl::StrCat(
        "<g><title>", Xml(point.label), "</title>",
        Mark(axes.x.At(point.x.value), axes.y.At(point.y.value), series),
        "</g>\n");
  return out;
}

// Names in rows as wide as the plot; `bottom` is moved below the last.
std::string Legend(const Plot& plot, std::size_t left_out, double& bottom) {
  std::string out;
  double x = kLeft;
  for (const Plot::Series& series : plot.series) {
    const std::string& name = series.name;
    const double width = kMarkRoom + kLetter * Columns(Printable(name));
    if (x > kLeft && x + width > kWidth - kRight) {
      x = kLeft;
      bottom += kLegendRow;
    }
    absl::StrAppend(&out, Mark(x, bottom - 4, series),
                    Text("legend", x + 11, bottom, name));
    x += width;
  }
  bottom += kLegendRow;
  if (left_out > 0)
    absl::StrAppend(&out,
                    Text("legend", kLeft - 5, bottom,
                         absl::StrCat("and ", left_out, " more in the data")));
  bottom += left_out > 0 ? kLegendRow : 0;
  return out;
}

}  // namespace

std::string ToSvg(const Plot& all, std::size_t most) {
  Plot plot = all;
  if (plot.series.size() > most) plot.series.resize(most);
  const Axes axes = AxesOf(plot);
  double bottom = kTop + kHeight + kBelow;
  std::string body = absl::StrCat(Frame(plot, axes), GuideLine(plot, axes));
  for (const Plot::Series& series : plot.series) body += Drawn(series, axes);
  body += Legend(plot, all.series.size() - plot.series.size(), bottom);
  return absl::StrCat(
      absl::StrFormat(
          "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" "
          "height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" role=\"img\">\n",
          kWidth, bottom, kWidth, bottom),
      "<title>", Xml(plot.title),
      "</title>\n<style>\n"
      "text{font-family:Helvetica,Arial,sans-serif;fill:var(--ink,#1b1f27)}\n"
      ".title{font-size:15px;font-weight:600}\n"
      ".tick,.name,.legend{font-size:12px}\n"
      ".tick,.name{text-anchor:middle;fill:var(--note,#5c6470)}.tick.end{text-"
      "anchor:end}\n"
      ".grid{stroke:var(--grid,#e3e6ea)}"
      ".guide{stroke:var(--note,#5c6470);stroke-dasharray:5 4}\n"
      ".bar{stroke-width:1.25}.join{stroke-width:2}\n"
      "</style>\n<rect width=\"100%\" height=\"100%\" "
      "style=\"fill:var(--paper,#ffffff)\"/>\n",
      body, "</svg>\n");
}

std::string ToCsv(const Plot& plot) {
  std::string csv = CsvLine(
      {"series", "label", "x", "x_low", "x_high", "y", "y_low", "y_high"});
  for (const Plot::Series& series : plot.series)
    for (const Plot::Point& point : series.points) {
      std::vector<std::string> fields = {series.name, point.label};
      AddEstimate(point.x, fields);
      AddEstimate(point.y, fields);
      csv += CsvLine(fields);
    }
  return csv;
}

}  // namespace banyan
