#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "core/base/check.h"
#include "core/base/common.h"
#include "core/json/json_reader.h"
#include "core/json/json_value.h"
#include "tests/fuzz/targets.h"

namespace banyan {
namespace {

using Json = nlohmann::json;

// Holds every token against what it stands for: it is read alone, by the
// library.
class TokenCheck : public JsonEvents {
 public:
  explicit TokenCheck(absl::string_view text) : reader_(text, "corpus") {}

  absl::Status Read() { return reader_.Read(*this); }

  absl::Status OnScalar(JsonScalar value) override {
    return ExpectToken(Written(value));
  }
  absl::Status OnKey(std::string key) override {
    return ExpectToken(Written(key));
  }
  absl::Status OnList() override { return Expect(reader_.token() == "["); }
  absl::Status OnListEnd() override { return Expect(reader_.token() == "]"); }
  absl::Status OnObject() override { return Expect(reader_.token() == "{"); }
  absl::Status OnObjectEnd() override { return Expect(reader_.token() == "}"); }

 private:
  absl::Status Expect(bool holds) {
    Check(holds, "the token is where it is said to be");
    return absl::OkStatus();
  }
  absl::Status ExpectToken(const std::string& written) {
    const absl::string_view token = reader_.token();
    const Json alone = Json::parse(token.begin(), token.end(), nullptr, false);
    return Expect(!alone.is_discarded() && alone.dump() == written);
  }

  JsonReader reader_;
};

void CheckSame(const JsonAt& ours, const Json& theirs) {
  Check(ours.is_null() == theirs.is_null() &&
            ours.is_object() == theirs.is_object() &&
            ours.is_list() == theirs.is_array() &&
            ours.is_string() == theirs.is_string() &&
            ours.Bool().ok() == theirs.is_boolean() &&
            ours.Number().ok() == theirs.is_number(),
        "the kinds of values are the same");
  if (theirs.is_string())
    Check(*ours.FindString() == theirs.get<std::string>(), "texts are");
  if (theirs.is_boolean()) Check(*ours.Bool() == theirs.get<bool>(), "flags");
  if (theirs.is_number())
    Check(*ours.Number() == theirs.get<double>(), "numbers are");
  if (ours.Int().ok())
    Check(
        theirs.is_number_integer() && *ours.Int() == theirs.get<std::int64_t>(),
        "whole numbers are");
  if (theirs.is_structured())
    Check(ours.size() == theirs.size(), "there are as many");
  if (theirs.is_object())
    for (const auto& [key, value] : theirs.items())
      CheckSame(ours.At(key), value);
  for (std::size_t i = 0; theirs.is_array() && i < theirs.size(); ++i)
    CheckSame(ours.At(i), theirs[i]);
}

}  // namespace

absl::Status FuzzJson(absl::string_view text) {
  const absl::StatusOr<JsonTree> tree = JsonTree::Parse(text, "corpus");
  Check(TokenCheck(text).Read() == tree.status(), "one answer to one text");
  const Json theirs = Json::parse(text.begin(), text.end(), nullptr, false);
  if (tree.ok()) {
    Check(!theirs.is_discarded(), "what is read is JSON");
    CheckSame(tree->root(), theirs);
    return absl::OkStatus();
  }
  CheckPlacedMessage(tree.status(), text);
  const absl::string_view message = tree.status().message();
  const bool is_ours = absl::StrContains(message, "' is given twice; ") ||
                       absl::EndsWith(message, ": more than 64 levels") ||
                       absl::EndsWith(message, ", found '\\x00'");
  Check(theirs.is_discarded() || is_ours, "what is refused is no JSON");
  return tree.status();
}

}  // namespace banyan
