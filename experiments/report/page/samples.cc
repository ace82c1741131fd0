#include "experiments/report/page/samples.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/json/json_value.h"
#include "core/text/columns.h"
#include "experiments/metrics/round_figures.h"
#include "experiments/records/record.pb.h"
#include "experiments/records/record_set.h"
#include "experiments/report/page/token_texts.h"
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

}  // namespace banyan
