#include "experiments/report/figures/plot.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/check.h"
#include "core/base/common.h"
#include "core/terminal/columns.h"
#include "core/terminal/drawing.h"
#include "experiments/report/table.h"

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
constexpr double kBarRow = 22;
constexpr double kLeastBar = 300;

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

Scale WholeScale(const Scale& scale) {
  return {.low = std::floor(scale.low), .high = std::ceil(scale.high)};
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
  if (plot.share) axes.y = RoundScale(0, std::min(1.0, axes.y.high));
  if (plot.x_from_zero) axes.x = RoundScale(0, axes.x.high);
  if (plot.whole_x && axes.x.step < 1) axes.x = WholeScale(axes.x);
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

std::string Text(absl::string_view style, double x, double y,
                 const std::string& text, absl::string_view more = "") {
  return absl::StrFormat(
      "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\"%s>%s</text>\n", style, x, y,
      more, XmlEscaped(text));
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
  const std::string look =
      absl::StrCat(" class=\"", series.hollow ? "hollow " : "mark ",
                   SeriesClass(series.colour), "\"");
  switch (series.shape % kShapes) {
    case 0:
      return absl::StrFormat("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"5\"%s/>\n", x,
                             y, look);
    case 1:
      return absl::StrFormat(
          "<rect x=\"%.1f\" y=\"%.1f\" width=\"9\" height=\"9\"%s/>\n", x - 4.5,
          y - 4.5, look);
    case 2:
      return absl::StrFormat("<path d=\"M%.1f %.1fl5.5 9.5h-11z\"%s/>\n", x,
                             y - 6, look);
    default:
      return absl::StrFormat("<path d=\"M%.1f %.1fl6 6l-6 6l-6 -6z\"%s/>\n", x,
                             y - 6, look);
  }
}

std::string Intervals(const Plot::Point& point, const Axes& axes,
                      absl::string_view series) {
  const double x = axes.x.At(point.x.value);
  const double y = axes.y.At(point.y.value);
  const std::string style = absl::StrCat("bar ", series);
  std::string out;
  if (point.y.interval.has_value()) {
    const auto [low, high] = *point.y.interval;
    out += Line(style, x, axes.y.At(std::max(low, axes.y.low)), x,
                axes.y.At(std::min(high, axes.y.high)));
    for (const double end : {low, high})
      if (end >= axes.y.low && end <= axes.y.high)
        out += Line(style, x - kCap, axes.y.At(end), x + kCap, axes.y.At(end));
  }
  if (point.x.interval.has_value()) {
    const double low = axes.x.At(point.x.interval->low);
    const double high = axes.x.At(point.x.interval->high);
    out += Line(style, low, y, high, y);
    for (const double end : {low, high})
      out += Line(style, end, y - kCap, end, y + kCap);
  }
  return out;
}

std::string Drawn(const Plot::Series& series, const Axes& axes) {
  const std::string colour = SeriesClass(series.colour);
  std::string out;
  for (std::size_t i = 1; series.line && i < series.points.size(); ++i)
    out += Line("join " + colour, axes.x.At(series.points[i - 1].x.value),
                axes.y.At(series.points[i - 1].y.value),
                axes.x.At(series.points[i].x.value),
                axes.y.At(series.points[i].y.value));
  for (const Plot::Point& point : series.points)
    out += Intervals(point, axes, colour);
  for (const Plot::Point& point : series.points)
    out += absl::StrCat(
        "<g><title>", XmlEscaped(point.label), "</title>",
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

// A bar for each label, its shares one after the other; the area grows to hold
// the longest label and all bars.
std::string Bars(const Plot& plot, double& width, double& bottom) {
  std::vector<std::string> labels;  // in the order of their first use
  for (const Plot::Series& series : plot.series)
    for (const Plot::Point& point : series.points)
      if (std::find(labels.begin(), labels.end(), point.label) == labels.end())
        labels.push_back(point.label);
  Check(!labels.empty(), "a plot without a point");
  int widest = 0;
  for (const std::string& label : labels)
    widest = std::max(widest, Columns(Printable(label)));
  const double from = kLegendRow + kLetter * static_cast<double>(widest);
  // Room for half of the last tick.
  const double right = 1.5 * kRight;
  width = std::max(width, from + kLeastBar + right);
  const Scale scale = {.from = from, .to = width - right};
  bottom = kTop + kBarRow * static_cast<double>(labels.size());
  std::string out = Text("title", kLegendRow, 22, plot.title);
  for (int i = 0; i <= 4; ++i) {
    const double share = 0.25 * i;
    out += Line("grid", scale.At(share), kTop, scale.At(share), bottom);
    out += Text("tick", scale.At(share), bottom + 16,
                absl::StrFormat("%.0f %%", 100 * share));
  }
  std::vector<double> ends(labels.size());
  for (const Plot::Series& series : plot.series)
    for (const Plot::Point& point : series.points) {
      const auto row = static_cast<std::size_t>(
          std::find(labels.begin(), labels.end(), point.label) -
          labels.begin());
      const double start = std::exchange(ends[row], ends[row] + point.y.value);
      absl::StrAppend(
          &out, "<g><title>",
          XmlEscaped(absl::StrFormat("%s, %s: %.1f %%", point.label,
                                     series.name, 100 * point.y.value)),
          absl::StrFormat(
              "</title><rect class=\"part %s\" x=\"%.1f\" y=\"%.1f\" "
              "width=\"%.1f\" height=\"%.1f\"/></g>\n",
              SeriesClass(series.colour), scale.At(start),
              kTop + kBarRow * static_cast<double>(row) + 3,
              scale.At(ends[row]) - scale.At(start), kBarRow - 6));
    }
  for (std::size_t row = 0; row < labels.size(); ++row)
    out += Text("tick end", from - 8,
                kTop + kBarRow * (static_cast<double>(row) + 0.5) + 4,
                labels[row]);
  out += Text("name", (scale.from + scale.to) / 2, bottom + 36, plot.x_title);
  bottom += kBelow;
  return out;
}

constexpr absl::string_view kStyle =
    ".plot text{font-family:Helvetica,Arial,sans-serif;fill:#1b1f27}\n"
    ".plot .title{font-size:15px;font-weight:600}\n"
    ".plot .tick,.plot .name,.plot .legend{font-size:12px}\n"
    ".plot .tick,.plot .name{text-anchor:middle;fill:#5c6470}\n"
    ".plot .tick.end{text-anchor:end}\n"
    ".plot .paper{fill:#ffffff}\n"
    ".plot .grid{stroke:#e3e6ea}\n"
    ".plot .guide{stroke:#5c6470;stroke-dasharray:5 4}\n"
    ".plot .bar{stroke:currentColor;stroke-width:1.25}\n"
    ".plot .join{stroke:currentColor;stroke-width:2}\n"
    ".plot .mark,.plot .part{fill:currentColor}\n"
    ".plot .hollow{fill:#ffffff;stroke:currentColor;stroke-width:1.75}\n";

}  // namespace

std::string ToSvg(const Plot& all, std::size_t most) {
  Plot plot = all;
  if (!plot.stacked && plot.series.size() > most) plot.series.resize(most);
  double width = kWidth;
  double bottom = 0;
  std::string body;
  if (plot.stacked) {
    body = Bars(plot, width, bottom);
  } else {
    const Axes axes = AxesOf(plot);
    bottom = kTop + kHeight + kBelow;
    body = absl::StrCat(Frame(plot, axes), GuideLine(plot, axes));
    for (const Plot::Series& series : plot.series) body += Drawn(series, axes);
  }
  body += Legend(plot, all.series.size() - plot.series.size(), bottom);
  return absl::StrCat(
      absl::StrFormat(
          "<svg class=\"plot\" xmlns=\"http://www.w3.org/2000/svg\" "
          "width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f "
          "%.0f\" role=\"img\">\n",
          width, bottom, width, bottom),
      "<title>", XmlEscaped(plot.title), "</title>\n<style>\n", kStyle,
      SeriesRules(".plot ", /*dark=*/false),
      "</style>\n<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n",
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
