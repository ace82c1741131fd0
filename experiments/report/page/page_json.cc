#include "experiments/report/page/page_json.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <set>
#include <utility>

#include "absl/time/time.h"
#include "configs/loader/yaml.h"
#include "core/base/common.h"
#include "core/terminal/columns.h"
#include "experiments/metrics/estimate.h"
#include "experiments/metrics/metric.h"
#include "experiments/metrics/round_figures.h"
#include "experiments/records/machine.h"
#include "experiments/records/record.pb.h"
#include "experiments/report/answer/answer.h"
#include "experiments/report/figures/figures.h"
#include "experiments/report/stated_costs.h"
#include "experiments/report/table.h"
#include "tree/render.h"

namespace banyan {

namespace {

using TextOf = std::function<std::string(std::uint32_t)>;

constexpr double kNsPerMs = 1e6;
constexpr int kLongestLabel = 18;  // characters

// Where the token after the path came from: the target's correction if
// something was drawn in its place, its bonus after full acceptance.
const char* OriginOfNext(const records::Round& round) {
  const int last = PathNode(round, round.path_size());
  for (const records::DrawList& list : round.lists())
    if (list.node() == last && list.tokens_size() > 0) return "corrected";
  return round.path_size() == 0 ? "plain" : "bonus";
}

std::string Probability(double value) { return absl::StrFormat("%.3g", value); }

// The first characters of a text that is too long for a box.
std::string Shortened(const std::string& text) {
  std::size_t end = 0;
  int characters = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xC0) == 0x80) continue;
    if (++characters == kLongestLabel) end = i;
  }
  return characters <= kLongestLabel ? text : text.substr(0, end) + "\u2026";
}

std::string Quoted(const std::string& text) {
  return absl::StrCat("\"", Printable(text), "\"");
}

// The picture of a round's tree: what was drafted, what the target made of it,
// and the token that it went on with.
class RoundPicture {
 public:
  RoundPicture(const records::Round& round, const TextOf& text_of)
      : round_(round),
        accepted_(static_cast<std::size_t>(round.tokens_size())) {
    accepted_[0] = true;
    for (const int node : round.path())
      accepted_[static_cast<std::size_t>(node)] = true;
    Add(-1, text_of(round.tokens(0)), "so far", "root", {},
        "the last token before the round");
    for (int node = 1; node < round.tokens_size(); ++node)
      AddNode(node, text_of(round.tokens(node)));
    AddNext(text_of(round.next()));
    picture_.marked = accepted_;
    picture_.title = "";
  }

  std::string Svg() const { return ToSvg(picture_, /*with_style=*/false); }

 private:
  void Add(int parent, const std::string& text, std::string note,
           std::string kind, std::vector<int> rings, std::string hint) {
    picture_.parents.push_back(parent);
    picture_.labels.push_back(Shortened(text));
    picture_.notes.push_back(std::move(note));
    picture_.kinds.push_back(std::move(kind));
    picture_.rings.push_back(std::move(rings));
    picture_.hints.push_back(std::move(hint));
  }

  void AddNode(int node, const std::string& text) {
    const int parent = round_.parents(node);
    if (const records::Probe* probe = ProbeAt(round_, node); probe != nullptr) {
      Add(parent, text, probe->vector() ? "vector" : "probe", "probe",
          {probe->trunk()},
          absl::StrCat(probe->vector() ? "a vector in the place of " : "",
                       Quoted(text), ": a probe of trunk ", probe->trunk(),
                       ", scored and not judged"));
      return;
    }
    const bool accepted = accepted_[static_cast<std::size_t>(node)];
    const bool has_p = round_.target_probability_size() > 0;
    const double p = has_p ? round_.target_probability(node) : 0;
    std::string note = has_p ? absl::StrCat("p ", Probability(p)) : "";
    std::string hint = Quoted(text);
    if (has_p)
      absl::StrAppend(&hint, ": target probability p ", Probability(p));
    absl::StrAppend(&hint, accepted ? ", accepted" : ", not accepted");
    std::vector<int> trunks;
    for (const auto& [list, draw] : FirstDrawsTo(round_, node)) {
      absl::StrAppend(&hint, ", proposed by trunk ", list->trunk());
      if (draw < list->q_size()) {
        const double q = list->q(draw);
        // Ranked drafts have q = 1.
        if (trunks.empty() && q < 1)
          absl::StrAppend(&note, note.empty() ? "" : " ", "q ", Probability(q));
        absl::StrAppend(&hint, " with q ", Probability(q));
        if (has_p)
          absl::StrAppend(&hint,
                          ": judged alone it is accepted with probability "
                          "min(1, p/q) = ",
                          Probability(q > 0 ? std::min(1.0, p / q) : 0));
      }
      trunks.push_back(list->trunk());
    }
    const bool reached = accepted_[static_cast<std::size_t>(parent)];
    Add(parent, text, std::move(note),
        accepted  ? "accepted"
        : reached ? "refused"
                  : "off",
        std::move(trunks), std::move(hint));
  }

  void AddNext(const std::string& text) {
    const bool kept = static_cast<int>(round_.emitted()) > round_.path_size();
    const std::string how = kept ? OriginOfNext(round_) : "cut";
    Add(PathNode(round_, round_.path_size()), text, kept ? how : "not kept",
        "next " + how, {},
        absl::StrCat(Quoted(text), ": the token after the accepted path"));
    accepted_.push_back(true);
  }

  const records::Round& round_;
  std::vector<bool> accepted_;  // by node of the picture
  TreePicture picture_;
};

JsonValue RoundToJson(const records::Round& round, const TextOf& text_of) {
  const auto ms = [&round](std::int64_t ns) {
    return static_cast<double>(ns) / kNsPerMs / Sequences(round);
  };
  JsonValue phases = {{"draft", DraftNs(round) / kNsPerMs},
                      {"derive", ms(round.derive_ns())},
                      {"target", ms(round.target_ns())},
                      {"verify", ms(round.verify_ns())},
                      {"commit", ms(round.commit_ns())}};
  if (round.device_ns() > 0) phases["device"] = ms(round.device_ns());
  return {{"drafted", DraftedNodes(round)},
          {"accepted", round.path_size()},
          {"probes", round.probes_size()},
          {"next", text_of(round.next())},
          {"emitted", round.emitted()},
          {"ms", std::move(phases)},
          {"tree", RoundPicture(round, text_of).Svg()}};
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

namespace {

JsonValue ContextToJson(const RecordSet& set) {
  const records::Context& context = set.files.front().context;
  const records::Build& build = context.build();
  const records::Machine& machine = context.machine();
  const records::Workload& workload = context.workload();
  JsonValue files = JsonValue::List();
  for (const RecordFile& file : set.files) files.Add(file.path);
  return {{"build",
           {{"revision", build.revision()},
            {"compiler", build.compiler()},
            {"flags", build.flags()},
            {"type", build.type()}}},
          {"machine",
           {{"cpu", machine.cpu()},
            {"device", DeviceOf(machine)},
            {"gpu",
             machine.has_gpu() ? JsonValue(ProcessorOf(machine)) : JsonValue()},
            {"instruction_set", InstructionSetName(machine.instruction_set())},
            {"cores", machine.cores()},
            {"threads", machine.threads()},
            {"bytes_per_s", machine.bytes_per_s()},
            {"load", machine.load()}}},
          {"started",
           absl::FormatTime(absl::RFC3339_sec,
                            absl::FromUnixSeconds(context.started_unix_s()),
                            absl::UTCTimeZone())},
          {"workload",
           {{"path", workload.path()},
            {"hash", workload.hash()},
            {"prompts", workload.prompts()}}},
          {"files", std::move(files)}};
}

JsonValue EstimatesToJson(const Summary& summary,
                          const std::vector<KeyedEstimates>& estimates) {
  JsonValue out = JsonValue::Object();
  for (std::size_t i = 0; i < summary.metrics.size(); ++i)
    for (const auto& [key, estimate] : estimates[i]) {
      JsonValue& number = out[std::string(summary.metrics[i]->name)][key];
      number = EstimateToJson(estimate);
      number["prompts"] = estimate.prompts;
    }
  return out;
}

// Of the drafters of some tokens only.
JsonValue DraftedToJson(const records::Trunk& trunk) {
  JsonValue all = JsonValue::List();
  for (const records::DraftedTokens& drafted : trunk.drafted())
    if (!drafted.file().empty())
      all.Add({{"model", drafted.model()},
               {"file", drafted.file()},
               {"tokens", drafted.tokens()}});
  return all;
}

JsonValue TrunksToJson(const records::Cell& cell) {
  JsonValue trunks = JsonValue::List();
  for (const records::Trunk& trunk : cell.trunks())
    trunks.Add({{"drafter", trunk.drafter()},
                {"policy", trunk.policy()},
                {"draws", DrawKindName(trunk.draws())},
                {"vocabularies", DraftedToJson(trunk)}});
  return trunks;
}

// What predictions rest on.
JsonValue CostsToJson(const StatedCosts* costs) {
  if (costs == nullptr) return nullptr;
  return {{"file", costs->file},
          {"name", costs->name},
          {"costs", ToYaml(costs->params)},
          {"sentence", Assumption(*costs)}};
}

// The cells that others are compared with, as chains of their drafters.
std::set<const CellRecords*> Opponents(const RecordSet& set) {
  std::set<const CellRecords*> opponents;
  for (const CellRecords& cell : set.cells)
    for (const records::Opponent& opponent : cell.cell->opponents())
      opponents.insert(set.Find(cell, opponent.cell()));
  return opponents;
}

JsonValue CellToJson(const Summary& summary, const SummaryRow& row,
                     bool is_opponent) {
  const records::Cell& cell = *row.cell->cell;
  JsonValue axes = JsonValue::Object();
  for (const records::Axis& axis : cell.axes())
    axes[axis.name()] = axis.value();
  JsonValue out = {{"name", row.cell->name},
                   {"method", cell.method()},
                   {"axes", std::move(axes)},
                   {"target", TargetName(cell)},
                   {"grown_from", NullIfEmpty(cell.target().grown_from())},
                   {"lossless", cell.lossless()},
                   {"refuted", cell.evidence() == records::REFUTED},
                   {"baseline", NullIfEmpty(row.cell->baseline)},
                   {"opponent", is_opponent},
                   {"tree", IsTree(cell)},
                   {"verifier", cell.verifier()},
                   {"temperature", cell.temperature()},
                   {"trunks", TrunksToJson(cell)},
                   {"prompts", PromptsOf(row)},
                   {"metrics", EstimatesToJson(summary, row.values)}};
  if (row.reference != nullptr) {
    out["reference"] = row.reference->name;
    out["differences"] = EstimatesToJson(summary, row.differences);
  }
  return out;
}

}  // namespace

JsonValue ToJson(const RecordSet& set, const Summary& summary,
                 const PageOptions& options, TokenTexts& texts) {
  const records::Context& context = set.files.front().context;
  JsonValue out = {{"question", context.question()},
                   {"experiment", context.experiment()},
                   {"experiment_hash", context.experiment_hash()},
                   {"context", ContextToJson(set)},
                   {"warnings", set.warnings},
                   {"answer", AnswerToJson(MakeAnswer(set))},
                   {"curve", CostsToJson(summary.costs)},
                   {"cells", JsonValue::List()},
                   {"metrics", JsonValue::List()},
                   {"samples", JsonValue::List()},
                   {"figures", ToJson(MakeFigures(summary, options.series))}};
  const std::set<const CellRecords*> opponents = Opponents(set);
  for (const SummaryGroup& group : summary.groups)
    for (const SummaryRow& row : group.rows) {
      out["cells"].Add(CellToJson(summary, row, opponents.count(row.cell) > 0));
      for (JsonValue& sample : Samples(*row.cell, options.samples, texts))
        out["samples"].Add(std::move(sample));
    }
  for (const MetricRow* metric : summary.metrics)
    out["metrics"].Add({{"name", std::string(metric->name)},
                        {"sentence", std::string(metric->sentence)},
                        {"unit", std::string(metric->unit)}});
  return out;
}

}  // namespace banyan
