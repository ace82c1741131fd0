#include "experiments/report/export.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/base/common.h"
#include "core/json/json_value.h"
#include "experiments/metrics/round_figures.h"
#include "experiments/records/record.pb.h"
#include "experiments/records/record_file.h"
#include "google/protobuf/message.h"
#include "google/protobuf/util/json_util.h"

namespace banyan {
namespace {

constexpr double kNsPerSecond = 1e9;

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
JsonValue QuestionId(const std::string& id) {
  std::int64_t number = 0;
  return absl::SimpleAtoi(id, &number) ? JsonValue(number) : JsonValue(id);
}

// The records of a question, a turn each.
using Turns = std::vector<const records::PromptRecord*>;

JsonValue Choice(const CellRecords& cell, const Turns& turns,
                 TokenTexts& texts) {
  JsonValue choice = {{"index", 0},
                      {"turns", JsonValue::List()},
                      {"decoding_steps", JsonValue::List()},
                      {"new_tokens", JsonValue::List()},
                      {"wall_time", JsonValue::List()},
                      {"accept_lengths", JsonValue::List()}};
  for (const records::PromptRecord* record : turns) {
    choice["turns"].Add(
        texts.Together(cell.cell->target().directory(), record->tokens()));
    choice["decoding_steps"].Add(record->rounds_size());
    choice["new_tokens"].Add(record->tokens_size());
    choice["wall_time"].Add(LatencyNs(*record) / kNsPerSecond);
    for (const records::Round& round : record->rounds())
      choice["accept_lengths"].Add(round.emitted());
  }
  return choice;
}

JsonValue AnswerJson(const CellRecords& cell, const Turns& turns,
                     TokenTexts& texts) {
  const records::PromptRecord& first = *turns.front();
  return {{"question_id", QuestionId(first.id())},
          {"category", first.kind()},
          {"answer_id", absl::StrCat(cell.context->experiment_hash(), "-",
                                     cell.name, "-", first.prompt())},
          {"model_id", cell.name},
          {"choices", std::vector<JsonValue>{Choice(cell, turns, texts)}},
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
    JsonValue head;
    head["cell"] = cell.name;
    head["baseline"] = NullIfEmpty(cell.baseline);
    head["experiment_hash"] = cell.context->experiment_hash();
    std::string begin = head.Text();
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
    out << "{\"path\":" << JsonValue(file.path).Text()
        << ",\"context\":" << context << "}\n";
  }
  return Written(out);
}

absl::Status ExportSpecBench(const RecordSet& set, TokenTexts& texts,
                             std::ostream& out) {
  for (const CellRecords& cell : set.cells)
    for (const Turns& turns : Questions(cell))
      out << AnswerJson(cell, turns, texts).Text() << "\n";
  return Written(out);
}

}  // namespace banyan
