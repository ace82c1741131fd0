// An answer as the page shows it.
#include <optional>
#include <string>

#include "core/json/json_value.h"
#include "experiments/metrics/bootstrap.h"
#include "experiments/report/answer/answer.h"
#include "experiments/report/answer/speed_verdict.h"

namespace banyan {
namespace {

JsonValue ToJson(const std::optional<Estimate>& estimate) {
  if (!estimate.has_value()) return nullptr;
  const auto& interval = estimate->interval;
  return {
      {"value", estimate->value},
      {"low", interval.has_value() ? JsonValue(interval->low) : JsonValue()},
      {"high", interval.has_value() ? JsonValue(interval->high) : JsonValue()}};
}

JsonValue ToJson(const AgainstCell& against) {
  if (against.other == nullptr) return nullptr;
  return {{"cell", against.other->name},
          {"method", against.other->cell->method()},
          {"name", against.name},
          {"speed", ToJson(against.speed)},
          {"tokens_per_pass", ToJson(against.tokens_per_pass)},
          {"verdict", std::string(Words(against.verdict))},
          {"difference", ToJson(against.difference)}};
}

JsonValue ToJson(const AnswerEntry& entry) {
  return {{"cell", entry.cell->name},
          {"speed", ToJson(entry.speed)},
          {"tokens_per_pass", ToJson(entry.tokens_per_pass)},
          {"unexplained", IsUnexplained(entry)},
          {"reference", ToJson(entry.reference)},
          {"chain",
           entry.chains.empty() ? JsonValue() : ToJson(WorstChain(entry))}};
}

JsonValue ToJson(const TargetAnswer& target) {
  JsonValue rows = JsonValue::List();
  for (const AnswerRow& row : target.rows) {
    JsonValue at = JsonValue::List();
    for (const auto& [temperature, entry] : row.at)
      at.Add(ToJson(entry))["temperature"] = temperature;
    rows.Add({{"name", row.name}, {"at", std::move(at)}});
  }
  JsonValue fastest = JsonValue::List();
  for (const auto& [temperature, cell] : target.fastest)
    fastest.Add({{"temperature", temperature},
                 {"name", cell.name},
                 {"speed", ToJson(std::optional<Estimate>(cell.speed))}});
  return {{"target", target.name},     {"marks", target.marks},
          {"prompts", target.prompts}, {"opening", target.opening},
          {"rows", std::move(rows)},   {"fastest", std::move(fastest)}};
}

}  // namespace

JsonValue AnswerToJson(const Answer& answer) {
  JsonValue targets = JsonValue::List();
  for (const TargetAnswer& target : answer.targets) targets.Add(ToJson(target));
  return {{"question", answer.question}, {"refuted", answer.refuted},
          {"notes", answer.notes},       {"records", answer.records},
          {"expected", answer.expected}, {"targets", std::move(targets)}};
}

}  // namespace banyan
