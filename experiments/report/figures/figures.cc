#include "experiments/report/figures/figures.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "core/base/output_files.h"
#include "experiments/metrics/estimate.h"
#include "experiments/metrics/metric.h"
#include "experiments/records/record.pb.h"
#include "experiments/records/record_set.h"
#include "experiments/report/table.h"

namespace banyan {
namespace {

// A round's parts, in their order, and a colour for each.
constexpr struct {
  const char* name;
  std::size_t colour;
} kPhases[] = {{"draft", 1},  {"derive", 6}, {"target", 0},
               {"verify", 4}, {"commit", 2}, {"device", 5}};

// The cells of a target at a temperature.
struct Cells {
  const Summary* summary;
  std::string target;
  double temperature = 0;
  std::vector<const SummaryRow*> rows;
};

std::vector<Cells> ByTargetAndTemperature(const Summary& summary) {
  std::vector<Cells> groups;
  for (const SummaryGroup& group : summary.groups)
    for (const SummaryRow& row : group.rows) {
      const records::Cell& cell = *row.cell->cell;
      const std::string target = TargetName(cell);
      auto at = std::find_if(groups.begin(), groups.end(), [&](const Cells& c) {
        return c.target == target && c.temperature == cell.temperature();
      });
      if (at == groups.end())
        at = groups.insert(groups.end(),
                           {&summary, target, cell.temperature(), {}});
      at->rows.push_back(&row);
    }
  return groups;
}

// The numbers of a metric, by key; null if the summary does not have it.
const KeyedEstimates* Find(const Cells& cells, const SummaryRow& row,
                           absl::string_view metric) {
  for (std::size_t i = 0; i < cells.summary->metrics.size(); ++i)
    if (cells.summary->metrics[i]->name == metric) return &row.values[i];
  return nullptr;
}

// Its one number; null if the cell has none.
const Estimate* FindOne(const Cells& cells, const SummaryRow& row,
                        absl::string_view metric) {
  const KeyedEstimates* found = Find(cells, row, metric);
  if (found == nullptr || found->count("") == 0) return nullptr;
  return &found->at("");
}

// The method and the axes in which the cells differ.
std::string LabelOf(const Cells& cells, const SummaryRow& row) {
  const records::Cell& cell = *row.cell->cell;
  std::string label = cell.method();
  for (const std::string& axis : cells.summary->axes) {
    std::set<std::string> values;
    for (const SummaryRow* other : cells.rows)
      values.insert(AxisValue(*other->cell->cell, axis));
    const std::string value = AxisValue(cell, axis);
    if (values.size() > 1 && !value.empty())
      absl::StrAppend(&label, ", ", axis, "=", value);
  }
  if (!cell.lossless()) label += " (lossy)";
  return label;
}

// "draft-1, ngram": whose tokens the cell drafts.
std::string DraftersOf(const records::Cell& cell) {
  std::set<std::string> names;
  for (const records::Trunk& trunk : cell.trunks())
    names.insert(trunk.label().empty() ? trunk.drafter() : trunk.label());
  return absl::StrJoin(names, " + ");
}

// "chains", "merged chains" of several trunks, or the policies of its trunks.
std::string ShapeOf(const records::Cell& cell) {
  if (!IsTree(cell)) return "chains";
  std::set<std::string> policies;
  bool chains = true;
  for (const records::Trunk& trunk : cell.trunks()) {
    policies.insert(trunk.policy());
    chains = chains && trunk.chain();
  }
  return chains ? "merged chains" : absl::StrJoin(policies, " + ");
}

// The place of the value among all, in the order of their first uses.
template <typename Of>
std::size_t PlaceOf(const Cells& cells, const SummaryRow& row, const Of& of) {
  std::vector<std::string> seen;
  for (const SummaryRow* other : cells.rows) {
    if (other->cell->cell->trunks_size() == 0) continue;
    std::string value = of(*other->cell->cell);
    if (std::find(seen.begin(), seen.end(), value) == seen.end())
      seen.push_back(std::move(value));
  }
  return static_cast<std::size_t>(
      std::find(seen.begin(), seen.end(), of(*row.cell->cell)) - seen.begin());
}

// One look in every plot: a drafter has a colour and a policy a shape; points
// of chains are hollow.
Plot::Series LookOf(const Cells& cells, const SummaryRow& row) {
  const records::Cell& cell = *row.cell->cell;
  return {.colour = PlaceOf(cells, row, DraftersOf),
          .shape = PlaceOf(cells, row, ShapeOf),
          .hollow = !IsTree(cell)};
}

double Top(const Plot::Series& series) {
  double top = 0;
  for (const Plot::Point& point : series.points)
    top = std::max(top, point.y.value);
  return top;
}

// A number by drafted nodes: a line for each family, the trees of one policy
// over one drafter or that drafter's chains. Families with the largest numbers
// come first.
Plot SizePlot(const Cells& cells, absl::string_view metric, Plot plot) {
  plot.x_title = "drafted nodes per round, mean";
  plot.x_from_zero = true;
  for (const SummaryRow* row : cells.rows) {
    const records::Cell& cell = *row->cell->cell;
    const Estimate* number = FindOne(cells, *row, metric);
    const Estimate* nodes = FindOne(cells, *row, "drafted_nodes");
    if (number == nullptr || nodes == nullptr || cell.trunks_size() == 0)
      continue;
    const std::string name = absl::StrCat(DraftersOf(cell), ": ", ShapeOf(cell),
                                          cell.lossless() ? "" : " (lossy)");
    auto series = std::find_if(
        plot.series.begin(), plot.series.end(),
        [&](const Plot::Series& other) { return other.name == name; });
    if (series == plot.series.end()) {
      series = plot.series.insert(plot.series.end(), LookOf(cells, *row));
      series->name = name;
      series->line = true;
    }
    series->points.push_back(
        {{.value = nodes->value}, *number, LabelOf(cells, *row)});
  }
  for (Plot::Series& series : plot.series)
    std::stable_sort(series.points.begin(), series.points.end(),
                     [](const Plot::Point& a, const Plot::Point& b) {
                       return a.x.value < b.x.value;
                     });
  std::stable_sort(plot.series.begin(), plot.series.end(),
                   [](const Plot::Series& a, const Plot::Series& b) {
                     return Top(a) > Top(b);
                   });
  return plot;
}

// The fastest first.
std::vector<const SummaryRow*> BySpeed(const Cells& cells) {
  std::vector<const SummaryRow*> rows = cells.rows;
  const auto speed = [&](const SummaryRow* row) {
    const Estimate* found = FindOne(cells, *row, "speed");
    return found == nullptr ? 0 : found->value;
  };
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const SummaryRow* a, const SummaryRow* b) {
                     return speed(a) > speed(b);
                   });
  return rows;
}

// Gives series of one look, such as chains of one drafter, a colour each.
Plot ToldApart(Plot plot) {
  std::set<std::pair<std::size_t, std::size_t>> looks;
  for (const Plot::Series& series : plot.series)
    looks.insert({series.colour, series.shape});
  if (looks.size() == plot.series.size()) return plot;
  for (std::size_t i = 0; i < plot.series.size(); ++i)
    plot.series[i].colour = i;
  return plot;
}

// 2 of "depth 2".
double NumberIn(const std::string& key) {
  const auto at = std::find_if(key.begin(), key.end(), [](char letter) {
    return absl::ascii_isdigit(static_cast<unsigned char>(letter));
  });
  return std::atof(
      key.substr(static_cast<std::size_t>(at - key.begin())).c_str());
}

// A line for each cell over the keys of a metric.
Plot KeyedPlot(const Cells& cells, absl::string_view metric, Plot plot) {
  plot.share = true;
  plot.whole_x = true;
  for (const SummaryRow* row : BySpeed(cells)) {
    const KeyedEstimates* found = Find(cells, *row, metric);
    if (found == nullptr || found->empty()) continue;
    Plot::Series series = LookOf(cells, *row);
    series.name = LabelOf(cells, *row);
    series.line = true;
    for (const auto& [key, estimate] : *found)
      series.points.push_back({{.value = NumberIn(key)}, estimate, key});
    plot.series.push_back(std::move(series));
  }
  return ToldApart(std::move(plot));
}

Plot PredictedPlot(const Cells& cells) {
  Plot plot = {.title = "Predicted and measured speedup",
               .x_title = "predicted speedup",
               .y_title = "measured speedup",
               .guide = Plot::Guide::kDiagonal};
  for (const SummaryRow* row : BySpeed(cells)) {
    const Estimate* predicted = FindOne(cells, *row, "predicted_speed");
    const Estimate* speed = FindOne(cells, *row, "speed");
    if (predicted == nullptr || speed == nullptr) continue;
    const std::string label = LabelOf(cells, *row);
    Plot::Series series = LookOf(cells, *row);
    series.name = label;
    series.points = {{*predicted, *speed, label}};
    plot.series.push_back(std::move(series));
  }
  return ToldApart(std::move(plot));
}

// Where the time of the rounds went.
Plot SharesPlot(const Cells& cells) {
  Plot plot = {.title = "Where the time goes",
               .x_title = "share of the rounds' time",
               .stacked = true};
  for (std::size_t i = 0; i < std::size(kPhases); ++i) {
    Plot::Series series = {
        .name = kPhases[i].name, .colour = kPhases[i].colour, .shape = 1};
    for (const SummaryRow* row : BySpeed(cells)) {
      const KeyedEstimates* found = Find(cells, *row, "time_shares");
      if (found == nullptr || found->count(series.name) == 0) continue;
      series.points.push_back(
          {{}, {.value = found->at(series.name).value}, LabelOf(cells, *row)});
    }
    if (!series.points.empty()) plot.series.push_back(std::move(series));
  }
  return plot;
}

absl::Status Write(const std::string& path, absl::string_view text) {
  BANYAN_ASSIGN_OR_RETURN(auto file, OutputFile::Open(path));
  BANYAN_RETURN_IF_ERROR(file->Append(text));
  return file->Finish();
}

// Letters and digits of any name, others as "-".
std::string FileName(absl::string_view text) {
  std::string name(text);
  for (char& letter : name)
    if (!absl::ascii_isalnum(static_cast<unsigned char>(letter)) &&
        letter != '.')
      letter = '-';
  return name;
}

}  // namespace

std::vector<Figure> MakeFigures(const Summary& summary, std::size_t most) {
  std::vector<Figure> figures;
  const std::vector<Cells> groups = ByTargetAndTemperature(summary);
  std::set<std::string> targets;
  for (const Cells& cells : groups) targets.insert(cells.target);
  std::set<std::string> files;
  for (const Cells& cells : groups) {
    const auto add = [&](const char* name, const char* file, Plot plot) {
      if (plot.series.empty()) return;
      const std::string where =
          absl::StrCat(targets.size() > 1 ? FileName(cells.target) + "_" : "",
                       "T", cells.temperature);
      absl::StrAppend(&plot.title, ", temperature ", cells.temperature,
                      targets.size() > 1 ? ", " + cells.target : "");
      std::string unique = absl::StrCat(file, "_", where);
      while (!files.insert(unique).second) unique += "_";
      std::string svg = ToSvg(plot, most);
      figures.push_back({name, cells.target, cells.temperature, std::move(plot),
                         std::move(svg), unique});
    };
    add("tokens", "tokens_by_size",
        SizePlot(cells, "tokens_per_pass",
                 {.title = "Tokens per pass by drafted nodes",
                  .y_title = "tokens per pass"}));
    add("size", "speed_by_size",
        SizePlot(cells, "speed",
                 {.title = "Speedup by drafted nodes",
                  .y_title = "speedup over plain decoding",
                  .guide = Plot::Guide::kOne}));
    add("depth", "acceptance_by_depth",
        KeyedPlot(cells, "acceptance_by_depth",
                  {.title = "Acceptance by depth",
                   .x_title = "depth in the tree",
                   .y_title = "share of rounds that accept as many tokens"}));
    add("conditional", "conditional_acceptance_by_depth",
        KeyedPlot(cells, "conditional_acceptance_by_depth",
                  {.title = "Acceptance by depth, given an accepted parent",
                   .x_title = "depth in the tree",
                   .y_title = "accepted share"}));
    add("rank", "acceptance_by_rank",
        KeyedPlot(cells, "acceptance_by_rank",
                  {.title = "Acceptance by rank",
                   .x_title = "rank among siblings",
                   .y_title = "accepted share"}));
    add("lengths", "accepted_lengths",
        KeyedPlot(cells, "accepted_lengths",
                  {.title = "Accepted lengths",
                   .x_title = "draft tokens accepted in a round",
                   .y_title = "share of rounds"}));
    add("predicted", "predicted_speed", PredictedPlot(cells));
    add("shares", "time_shares", SharesPlot(cells));
  }
  return figures;
}

absl::Status WriteFigures(absl::Span<const Figure> figures,
                          const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    return absl::InvalidArgumentError(
        absl::StrCat(folder, ": ", error.message()));
  for (const Figure& figure : figures) {
    const std::string path = absl::StrCat(folder, "/", figure.file);
    BANYAN_RETURN_IF_ERROR(Write(path + ".svg", figure.svg));
    BANYAN_RETURN_IF_ERROR(Write(path + ".csv", ToCsv(figure.plot)));
  }
  return absl::OkStatus();
}

JsonValue ToJson(absl::Span<const Figure> figures) {
  JsonValue list = JsonValue::List();
  for (const Figure& figure : figures) {
    const Plot& plot = figure.plot;
    JsonValue series = JsonValue::List();
    for (const Plot::Series& one : plot.series) {
      JsonValue points = JsonValue::List();
      for (const Plot::Point& point : one.points)
        points.Add({{"label", point.label},
                    {"x", EstimateToJson(point.x)},
                    {"y", EstimateToJson(point.y)}});
      series.Add({{"name", one.name},
                  {"colour", one.colour},
                  {"shape", one.shape},
                  {"hollow", one.hollow},
                  {"line", one.line},
                  {"points", std::move(points)}});
    }
    list.Add({{"plot", figure.name},
              {"target", figure.target},
              {"temperature", figure.temperature},
              {"file", figure.file},
              {"title", plot.title},
              {"x_title", plot.x_title},
              {"y_title", plot.y_title},
              {"guide", plot.guide == Plot::Guide::kOne        ? "one"
                        : plot.guide == Plot::Guide::kDiagonal ? "diagonal"
                                                               : ""},
              {"share", plot.share},
              {"stacked", plot.stacked},
              {"series", std::move(series)},
              {"svg", figure.svg},
              {"csv", ToCsv(plot)}});
  }
  return list;
}

}  // namespace banyan
