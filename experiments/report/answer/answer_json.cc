// An answer as the page and other programs read it.
#include <optional>
#include <string>
#include <utility>

#include "core/json/json_value.h"
#include "experiments/metrics/estimate.h"
#include "experiments/records/cell_names.h"
#include "experiments/report/answer/answer.h"
#include "experiments/report/answer/answer_sentences.h"
#include "experiments/report/answer/verdict.h"
#include "experiments/report/estimate_json.h"

namespace banyan {
namespace {

JsonValue ToJson(const CellNumbers& numbers) {
  return {{"cell", numbers.cell->name},
          {"method", numbers.cell->cell->method()},
          {"name", numbers.name},
          {"tree", IsTree(*numbers.cell->cell)},
          {"speed", EstimateToJson(numbers.speed)},
          {"tokens_per_pass", EstimateToJson(numbers.tokens_per_pass)},
          {"unexplained", numbers.unexplained}};
}

JsonValue ToJson(const Difference& difference) {
  JsonValue out = EstimateToJson(difference.estimate);
  if (!difference.estimate.has_value()) return out;
  out["prompts"] = difference.estimate->prompts;
  out["verdict"] = std::string(SpeedWord(difference.verdict));
  out["p"] = difference.estimate->p.has_value()
                 ? JsonValue(*difference.estimate->p)
                 : JsonValue();
  out["sign_p"] = difference.signs.p;
  out["prompts_wanted"] = difference.prompts_wanted.has_value()
                              ? JsonValue(*difference.prompts_wanted)
                              : JsonValue();
  return out;
}

JsonValue ToJson(const AgainstCell& against) {
  JsonValue out = ToJson(against.other);
  out["difference"] = ToJson(against.speed);
  return out;
}

JsonValue ToJson(const AnswerEntry& entry) {
  JsonValue out = ToJson(entry.own);
  out["reference"] =
      entry.reference.has_value() ? ToJson(*entry.reference) : JsonValue();
  out["chain"] = entry.chains.empty() ? JsonValue() : ToJson(WorstChain(entry));
  return out;
}

JsonValue ToJson(const Score& score) {
  return {{"all", score.all},
          {"more", score.more},
          {"less", score.less},
          {"undecided", score.undecided()},
          {"winners", score.winners}};
}

JsonValue ToJson(double temperature, const TemperatureAnswer& at) {
  JsonValue outlooks = JsonValue::List();
  for (const Outlook& outlook : at.outlooks)
    outlooks.Add({{"where", outlook.where},
                  {"file", outlook.file},
                  {"score", ToJson(outlook.score)},
                  {"unknown", outlook.unknown}});
  JsonValue faster = JsonValue::List();
  for (const CellNumbers& chain : at.faster_chains) faster.Add(ToJson(chain));
  return {
      {"temperature", temperature},
      {"prompts", at.prompts},
      {"trees", at.trees},
      {"speed", ToJson(at.speed)},
      {"tokens_per_pass", ToJson(at.tokens_per_pass)},
      {"outlooks", std::move(outlooks)},
      {"plain_twice", EstimateToJson(at.noise.speed)},
      {"withdrawn", at.noise.differs},
      {"faster_chains", std::move(faster)},
      {"fastest", at.fastest.has_value() ? ToJson(*at.fastest) : JsonValue()}};
}

JsonValue ToJson(const TargetAnswer& target, bool largest) {
  JsonValue rows = JsonValue::List();
  for (const AnswerRow& row : target.rows) {
    JsonValue at = JsonValue::List();
    for (const auto& [temperature, entry] : row.at)
      at.Add(ToJson(entry))["temperature"] = temperature;
    rows.Add({{"name", row.name}, {"at", std::move(at)}});
  }
  JsonValue temperatures = JsonValue::List();
  for (const auto& [temperature, at] : target.at)
    temperatures.Add(ToJson(temperature, at));
  return {{"target", target.name},
          {"marks", target.marks},
          {"opening", target.opening},
          {"temperatures", std::move(temperatures)},
          {"rows", std::move(rows)},
          {"fastest", FastestSentence(target, largest)}};
}

}  // namespace

JsonValue AnswerToJson(const Answer& answer) {
  JsonValue targets = JsonValue::List();
  for (const TargetAnswer& target : answer.targets)
    targets.Add(ToJson(target, &target == &answer.targets.front()));
  return {{"question", answer.question},       {"loaded", answer.loaded},
          {"refuted", answer.refuted},         {"notes", answer.notes},
          {"records", answer.records},         {"expected", answer.expected},
          {"comparisons", answer.comparisons}, {"targets", std::move(targets)}};
}

}  // namespace banyan
