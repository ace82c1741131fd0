// An answer as the page shows it.
#include <optional>
#include <string>

#include "experiments/metrics/bootstrap.h"
#include "experiments/report/answer.h"
#include "experiments/report/speed_verdict.h"
#include "nlohmann/json.hpp"

namespace banyan {
namespace {

using Json = nlohmann::ordered_json;

Json ToJson(const std::optional<Estimate>& estimate) {
  if (!estimate.has_value()) return nullptr;
  const auto& interval = estimate->interval;
  return {{"value", estimate->value},
          {"low", interval.has_value() ? Json(interval->low) : Json()},
          {"high", interval.has_value() ? Json(interval->high) : Json()}};
}

Json ToJson(const AgainstCell& against) {
  if (against.other == nullptr) return nullptr;
  return {{"cell", against.other->name},
          {"method", against.other->cell->method()},
          {"speed", ToJson(against.speed)},
          {"tokens_per_pass", ToJson(against.tokens_per_pass)},
          {"verdict", std::string(Words(against.verdict))},
          {"difference", ToJson(against.difference)}};
}

Json ToJson(const AnswerEntry& entry) {
  return {{"cell", entry.cell->name},
          {"speed", ToJson(entry.speed)},
          {"tokens_per_pass", ToJson(entry.tokens_per_pass)},
          {"reference", ToJson(entry.reference)},
          {"chain", entry.chains.empty() ? Json() : ToJson(WorstChain(entry))}};
}

Json ToJson(const TargetAnswer& target) {
  Json rows = Json::array();
  for (const AnswerRow& row : target.rows) {
    Json at = Json::array();
    for (const auto& [temperature, entry] : row.at) {
      at.push_back(ToJson(entry));
      at.back()["temperature"] = temperature;
    }
    rows.push_back({{"name", row.name}, {"at", std::move(at)}});
  }
  Json fastest = Json::array();
  for (const auto& [temperature, cell] : target.fastest)
    fastest.push_back({{"temperature", temperature},
                       {"name", cell.name},
                       {"speed", ToJson(std::optional<Estimate>(cell.speed))}});
  return {{"target", target.name},
          {"marks", target.marks},
          {"prompts", target.prompts},
          {"rows", std::move(rows)},
          {"fastest", std::move(fastest)}};
}

}  // namespace

Json AnswerToJson(const Answer& answer) {
  Json targets = Json::array();
  for (const TargetAnswer& target : answer.targets)
    targets.push_back(ToJson(target));
  return {{"question", answer.question},
          {"records", answer.records},
          {"expected", answer.expected},
          {"targets", std::move(targets)}};
}

}  // namespace banyan
