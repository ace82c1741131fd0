#include "python/extension/metrics.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/common.h"
#include "experiments/metrics/catalogue.h"
#include "experiments/metrics/metric.h"
#include "experiments/records/record.pb.h"
#include "experiments/records/record_set.h"

namespace banyan {
namespace {

namespace nb = nanobind;

nb::object BytesOf(const google::protobuf::MessageLite* message) {
  if (message == nullptr) return nb::none();
  const std::string bytes = message->SerializeAsString();
  return nb::bytes(bytes.data(), bytes.size());
}

// What the function returned: by key what is added over and under the line.
void AddCounts(const std::string& name, const nb::object& returned,
               Counts& counts) {
  if (returned.is_none()) return;
  std::map<std::string, std::pair<double, double>> parts;
  std::pair<double, double> one;
  if (nb::try_cast(returned, one)) {
    parts[""] = one;
  } else if (!nb::try_cast(returned, parts)) {
    throw nb::type_error(
        absl::StrCat(name,
                     ".count: expected (over, under), a dict of such pairs, "
                     "or None, found ",
                     nb::cast<std::string>(nb::repr(returned)))
            .c_str());
  }
  for (const auto& [key, part] : parts) {
    if (!std::isfinite(part.first) || !std::isfinite(part.second))
      throw nb::value_error(
          absl::StrCat(name, ".count: expected finite numbers, found ",
                       part.first, " over ", part.second)
              .c_str());
    counts.parts[key] = {.over = part.first, .under = part.second};
  }
}

// Rows refer to these texts for as long as the program runs.
absl::string_view Kept(std::string text) {
  static auto& texts = *new std::vector<std::unique_ptr<std::string>>();
  texts.push_back(std::make_unique<std::string>(std::move(text)));
  return *texts.back();
}

void AddMetric(const std::string& name, const std::string& sentence,
               const std::string& unit, const nb::callable& count) {
  if (FindMetric(name).ok())
    throw nb::value_error(
        absl::StrCat("a metric '", name, "' is there already").c_str());
  // Let go of when the process ends, after the interpreter.
  auto* const kept = new nb::callable(count);
  const MetricRow row = {
      .name = Kept(name),
      .sentence = Kept(sentence),
      .unit = Kept(unit),
      .count = [kept, name](const PromptPair& pair, Counts& counts) {
        const nb::gil_scoped_acquire lock;
        AddCounts(name,
                  (*kept)(BytesOf(pair.cell), BytesOf(pair.record),
                          BytesOf(pair.baseline)),
                  counts);
      }};
  AddMetrics({&row, 1});
}

}  // namespace

void DefineMetrics(nb::module_& module) {
  module.def("add_metric", &AddMetric, nb::arg("name"), nb::arg("sentence"),
             nb::arg("unit"), nb::arg("count"));
}

}  // namespace banyan
