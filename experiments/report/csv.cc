#include "experiments/report/csv.h"

#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "experiments/metrics/estimate.h"
#include "experiments/report/numbers.h"

namespace banyan {
namespace {

// Spreadsheets compute a text that begins like a formula, quoted or not.
bool IsLikeAFormula(const std::string& text) {
  double number = 0;
  return text.find_first_of("=+-@\t\r\n") == 0 &&
         !absl::SimpleAtod(text, &number);
}

std::string Quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\"", "\"\""}}), "\"");
}

}  // namespace

std::string CsvLine(const std::vector<std::string>& fields) {
  return absl::StrCat(
      absl::StrJoin(fields, ",",
                    [](std::string* out, const std::string& field) {
                      out->append(
                          Quoted(IsLikeAFormula(field) ? "'" + field : field));
                    }),
      "\n");
}

void AddEstimate(const Estimate& estimate, std::vector<std::string>& fields) {
  fields.push_back(ExactNumber(estimate.value));
  const bool known = estimate.interval.has_value();
  fields.push_back(known ? ExactNumber(estimate.interval->low) : "");
  fields.push_back(known ? ExactNumber(estimate.interval->high) : "");
}

}  // namespace banyan
