// The entries of a record file, in protobuf's text form: a changed byte then
// changes a fact, and no lengths of what holds it. The target writes them as
// the file has them, each with its right length and checksums.
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/check.h"
#include "core/base/common.h"
#include "core/json/json_value.h"
#include "core/tokenizer/patterns/unicode.h"
#include "experiments/records/record.pb.h"
#include "experiments/records/record_set.h"
#include "experiments/report/answer/answer.h"
#include "experiments/report/compare.h"
#include "experiments/report/export.h"
#include "experiments/report/figures/figures.h"
#include "experiments/report/page/html_page.h"
#include "experiments/report/page/page_json.h"
#include "experiments/report/page/token_texts.h"
#include "experiments/report/stated_costs.h"
#include "experiments/report/summary.h"
#include "experiments/report/summary_table.h"
#include "experiments/report/table.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/message.h"
#include "google/protobuf/stubs/logging.h"
#include "google/protobuf/text_format.h"
#include "tests/fuzz/scratch_file.h"
#include "tests/fuzz/targets.h"

namespace banyan {
namespace {

using google::protobuf::TextFormat;

class Quiet : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int, google::protobuf::io::ColumnNumber,
                const std::string&) override {}
};

// The message's bytes; `text` itself if it is no message's text.
std::string Payload(absl::string_view text,
                    google::protobuf::Message& message) {
  Quiet quiet;
  TextFormat::Parser parser;
  parser.RecordErrorsTo(&quiet);
  if (!parser.ParseFromString(std::string(text), &message))
    return std::string(text);
  return message.SerializeAsString();
}

std::string RecordFileOf(absl::string_view text) {
  std::string file = "BANYANR1";
  for (absl::string_view entry : absl::StrSplit(text, "---\n")) {
    records::Context context;
    records::PromptRecord record;
    const bool first = file.size() == 8;
    const std::string payload =
        first ? Payload(entry, context) : Payload(entry, record);
    ByteWriter length;
    length.Put(static_cast<std::uint32_t>(payload.size()));
    const std::string size = length.Take();
    ByteWriter checksums;
    checksums.Put(Crc32(BytesOf(size)));
    checksums.Put(Crc32(BytesOf(payload)));
    absl::StrAppend(&file, size, checksums.Take(), payload);
  }
  return file;
}

void CheckJson(const JsonValue& json) {
  Check(JsonTree::Parse(json.Text(), "report").ok(), "reports are JSON");
}

StatedCosts MadeCosts() {
  const ScratchFile file(".yaml",
                         "passes: [{ms: {1: 1, 64: 2}}]\n"
                         "levels: [{ms: {small_model: 0.25, other: 0}}]\n");
  return ReadStatedCosts(file.path()).value();
}

void ReportAll(const RecordSet& set, const StatedCosts* costs) {
  SummaryOptions options = {.costs = costs};
  if (!set.cells.empty()) options.reference = set.cells.back().name;
  const absl::StatusOr<Summary> summary = Summarise(set, options);
  Check(summary.ok(), "every set of records has a summary");
  for (const Detail detail : {Detail::kBrief, Detail::kFull}) {
    const Table table = MakeTable(*summary, detail);
    (void)ToText(table);
    (void)ToMarkdown(table);
    (void)ToLatex(table);
  }
  (void)MakeCrossTable(*summary, {});
  (void)ToCsv(*summary);
  CheckJson(ToJson(MakeFigures(*summary)));
  TokenTexts texts;
  const JsonValue page = ToJson(set, *summary, {}, texts);
  CheckJson(page);
  (void)HtmlPage(set.files.front().context.question(), page);
}

void ExportAll(const RecordSet& set) {
  std::ostringstream out;
  TokenTexts texts;
  (void)ExportJsonLines(set, out);
  (void)ExportContexts(set, out);
  (void)ExportAcceptance(set, out);
  (void)ExportSpecBench(set, texts, out);
}

void CompareWithItself(const RecordSet& set) {
  const absl::StatusOr<Comparison> same = Compare(set, set, {});
  if (!same.ok()) return;  // they have no cell in common: there is none
  (void)ToText(ToTable(*same));
  CheckJson(ToJson(*same));
}

}  // namespace

absl::Status FuzzRecords(absl::string_view text) {
  const google::protobuf::LogSilencer silencer;
  const ScratchFile file(".banyan", RecordFileOf(text));
  absl::StatusOr<RecordSet> set = ReadRecordSet({file.path()}, false);
  if (!set.ok()) {
    const absl::string_view message = set.status().message();
    Check(absl::StartsWith(message, file.path() + ": the entry at byte ") &&
              FindInvalidUtf8(message) == absl::string_view::npos,
          "the message has the file and the byte, in UTF-8");
    return absl::Status(
        set.status().code(),
        absl::StrCat("corpus", message.substr(file.path().size())));
  }
  const Answer answer = MakeAnswer(*set);
  (void)AnswerText(answer, "more");
  CheckJson(AnswerToJson(answer));
  ReportAll(*set, nullptr);
  ExportAll(*set);
  CompareWithItself(*set);
  (void)CheckClaims(*set);
  SplitByKind(*set);
  const StatedCosts costs = MadeCosts();
  const bool stated = StateTimes(costs, *set).ok();
  ReportAll(*set, stated ? &costs : nullptr);
  return absl::OkStatus();
}

}  // namespace banyan
