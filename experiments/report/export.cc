#include "experiments/report/export.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "experiments/metrics/round_figures.h"
#include "experiments/records/prompt_pair.h"
#include "experiments/records/record.pb.h"
#include "experiments/records/record_file.h"
#include "experiments/records/record_set.h"
#include "experiments/report/token_texts.h"
#include "google/protobuf/message.h"
#include "google/protobuf/util/json_util.h"
#include "nlohmann/json.hpp"

namespace banyan {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kNsPerSecond = 1e9;

std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

absl::StatusOr<std::string> MessageToJson(
    const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  std::string json;
  const auto status =
      google::protobuf::util::MessageToJsonString(message, &json, options);
  if (!status.ok())
    return absl::InternalError(absl::StrCat(
        "a record cannot be written as JSON: ", status.ToString()));
  return json;
}

absl::Status Written(const std::ostream& out) {
  return out ? absl::OkStatus()
             : absl::InternalError("the export could not be written");
}

// A question's number where the workload numbers them.
Json QuestionId(const std::string& id) {
  std::int64_t number = 0;
  return absl::SimpleAtoi(id, &number) ? Json(number) : Json(id);
}

// The records of a question, a turn each.
using Turns = std::vector<const records::PromptRecord*>;

Json Choice(const CellRecords& cell, const Turns& turns, TokenTexts& texts) {
  Json choice = {{"index", 0},
                 {"turns", Json::array()},
                 {"decoding_steps", Json::array()},
                 {"new_tokens", Json::array()},
                 {"wall_time", Json::array()},
                 {"accept_lengths", Json::array()}};
  for (const records::PromptRecord* record : turns) {
    choice["turns"].push_back(
        texts.Together(cell.cell->target().directory(), record->tokens()));
    choice["decoding_steps"].push_back(record->rounds_size());
    choice["new_tokens"].push_back(record->tokens_size());
    choice["wall_time"].push_back(LatencyNs(*record) / kNsPerSecond);
    for (const records::Round& round : record->rounds())
      choice["accept_lengths"].push_back(round.emitted());
  }
  return choice;
}

Json AnswerRow(const CellRecords& cell, const Turns& turns, TokenTexts& texts) {
  const records::PromptRecord& first = *turns.front();
  return {{"question_id", QuestionId(first.id())},
          {"category", first.kind()},
          {"answer_id", absl::StrCat(cell.context->experiment_hash(), "-",
                                     cell.name, "-", first.prompt())},
          {"model_id", cell.name},
          {"choices", Json::array({Choice(cell, turns, texts)})},
          {"tstamp", cell.context->started_unix_s()}};
}

// Questions in the order of their first turns; the pairs are by rising number,
// so turns come in their order.
std::vector<Turns> Questions(const CellRecords& cell) {
  std::vector<Turns> questions;
  std::map<std::string, std::size_t> places;  // by id
  for (const PromptPair& pair : cell.pairs) {
    const auto [place, is_new] =
        places.try_emplace(pair.record->id(), questions.size());
    if (is_new) questions.emplace_back();
    questions[place->second].push_back(pair.record);
  }
  return questions;
}

}  // namespace

absl::Status ExportJsonLines(const RecordSet& set, std::ostream& out) {
  for (const CellRecords& cell : set.cells) {
    BANYAN_ASSIGN_OR_RETURN(const std::string setting,
                            MessageToJson(*cell.cell));
    Json head;
    head["cell"] = cell.name;
    head["baseline"] = cell.baseline.empty() ? Json() : Json(cell.baseline);
    head["experiment_hash"] = cell.context->experiment_hash();
    std::string begin = Dump(head);
    begin.pop_back();  // the brace, for what follows
    for (const PromptPair& pair : cell.pairs) {
      BANYAN_ASSIGN_OR_RETURN(const std::string record,
                              MessageToJson(*pair.record));
      out << begin << ",\"setting\":" << setting << ",\"record\":" << record
          << "}\n";
    }
  }
  return Written(out);
}

absl::Status ExportContexts(const RecordSet& set, std::ostream& out) {
  for (const RecordFile& file : set.files) {
    BANYAN_ASSIGN_OR_RETURN(const std::string context,
                            MessageToJson(file.context));
    out << "{\"path\":" << Dump(file.path) << ",\"context\":" << context
        << "}\n";
  }
  return Written(out);
}

absl::Status ExportSpecBench(const RecordSet& set, TokenTexts& texts,
                             std::ostream& out) {
  for (const CellRecords& cell : set.cells)
    for (const Turns& turns : Questions(cell))
      out << Dump(AnswerRow(cell, turns, texts)) << "\n";
  return Written(out);
}

}  // namespace banyan
