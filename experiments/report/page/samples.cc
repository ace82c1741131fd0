#include "experiments/report/page/samples.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "core/json/json_value.h"
#include "experiments/metrics/round_figures.h"
#include "experiments/records/record.pb.h"
#include "experiments/records/record_set.h"
#include "experiments/report/page/token_texts.h"

namespace banyan {
namespace {

using TextOf = std::function<std::string(std::uint32_t)>;

constexpr double kNsPerMs = 1e6;

bool Contains(const google::protobuf::RepeatedField<std::int32_t>& values,
              int value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

JsonValue NodeToJson(const records::Round& round, int node,
                     const TextOf& text_of) {
  JsonValue trunks = JsonValue::List();
  JsonValue q = JsonValue::List();
  for (const auto& [list, draw] : FirstDrawsTo(round, node)) {
    trunks.Add(list->trunk());
    q.Add(draw < list->q_size() ? JsonValue(list->q(draw)) : JsonValue());
  }
  const bool has_p = round.target_probability_size() > 0;
  JsonValue out = {
      {"text", text_of(round.tokens(node))},
      {"parent", round.parents(node)},
      {"p", has_p ? JsonValue(round.target_probability(node)) : JsonValue()},
      {"trunks", std::move(trunks)},
      {"q", std::move(q)},
      {"accepted", Contains(round.path(), node)}};
  if (const records::Probe* probe = ProbeAt(round, node); probe != nullptr) {
    out["p"] = JsonValue();
    out["probe_of"] = probe->trunk();
    out["vector"] = probe->vector();
  }
  return out;
}

JsonValue RoundToJson(const records::Round& round, const TextOf& text_of) {
  const auto ms = [&round](std::int64_t ns) {
    return static_cast<double>(ns) / kNsPerMs / Sequences(round);
  };
  JsonValue nodes = JsonValue::List();
  for (int node = 0; node < round.tokens_size(); ++node)
    nodes.Add(NodeToJson(round, node, text_of));
  JsonValue phases = {{"draft", DraftNs(round) / kNsPerMs},
                      {"derive", ms(round.derive_ns())},
                      {"target", ms(round.target_ns())},
                      {"verify", ms(round.verify_ns())},
                      {"commit", ms(round.commit_ns())}};
  if (round.device_ns() > 0) phases["device"] = ms(round.device_ns());
  return {{"nodes", std::move(nodes)},
          {"next", text_of(round.next())},
          {"emitted", round.emitted()},
          {"ms", std::move(phases)}};
}

// Where the token after the path came from: the target's correction if
// something was drawn in its place, its bonus after full acceptance.
const char* OriginOfNext(const records::Round& round) {
  const int last = PathNode(round, round.path_size());
  for (const records::DrawList& list : round.lists())
    if (list.node() == last && list.tokens_size() > 0) return "corrected";
  return round.path_size() == 0 ? "plain" : "bonus";
}

JsonValue TokensToJson(const records::PromptRecord& record,
                       const TextOf& text_of) {
  JsonValue tokens = JsonValue::List();
  int place = 0;
  for (int i = 0; i < record.rounds_size(); ++i) {
    const records::Round& round = record.rounds(i);
    for (int j = 0; j < static_cast<int>(round.emitted()); ++j)
      tokens.Add(
          {{"text", text_of(record.tokens(place++))},
           {"round", i},
           {"how", j < round.path_size() ? "accepted" : OriginOfNext(round)}});
  }
  return tokens;
}

}  // namespace

std::vector<JsonValue> Samples(const CellRecords& cell, int count,
                               TokenTexts& texts) {
  const std::string& directory = cell.cell->target().directory();
  const TextOf text_of = texts.Of(directory);
  const std::size_t shown =
      std::min(static_cast<std::size_t>(count), cell.pairs.size());
  std::vector<JsonValue> samples;
  for (std::size_t i = 0; i < shown; ++i) {
    const records::PromptRecord& record = *cell.pairs[i].record;
    JsonValue rounds = JsonValue::List();
    for (const records::Round& round : record.rounds())
      rounds.Add(RoundToJson(round, text_of));
    samples.push_back(
        {{"cell", cell.name},
         {"id", record.id()},
         {"kind", record.kind()},
         {"turn", record.turn()},
         {"prompt", texts.Together(directory, record.prompt_tokens())},
         {"tokens", TokensToJson(record, text_of)},
         {"rounds", std::move(rounds)}});
  }
  return samples;
}

}  // namespace banyan
