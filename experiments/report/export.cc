#include "experiments/report/export.h"

#include <cstdint>
#include <ostream>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "experiments/metrics/rounds.h"
#include "experiments/records/prompt_pair.h"
#include "experiments/records/record.pb.h"
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

Json AnswerRow(const CellRecords& cell, const records::PromptRecord& record,
               TokenTexts& texts) {
  Json accept_lengths = Json::array();
  for (const records::Round& round : record.rounds())
    accept_lengths.push_back(round.emitted());
  const double seconds =
      static_cast<double>(record.prefill_ns() + RoundsNs(record)) /
      kNsPerSecond;
  const auto one = [](Json value) { return Json::array({std::move(value)}); };
  Json choice = {{"index", 0},
                 {"turns", one(texts.Together(cell.cell->target().directory(),
                                              record.tokens()))},
                 {"decoding_steps", one(record.rounds_size())},
                 {"new_tokens", one(record.tokens_size())},
                 {"wall_time", one(seconds)},
                 {"accept_lengths", std::move(accept_lengths)}};
  return {{"question_id", QuestionId(record.id())},
          {"category", record.kind()},
          {"answer_id", absl::StrCat(cell.context->experiment_hash(), "-",
                                     cell.name, "-", record.prompt())},
          {"model_id", cell.name},
          {"choices", one(std::move(choice))},
          {"tstamp", cell.context->started_unix_s()}};
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

absl::Status ExportSpecBench(const RecordSet& set, TokenTexts& texts,
                             std::ostream& out) {
  for (const CellRecords& cell : set.cells)
    for (const PromptPair& pair : cell.pairs)
      out << Dump(AnswerRow(cell, *pair.record, texts)) << "\n";
  return Written(out);
}

}  // namespace banyan
