#include "core/json/json_reader.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/common.h"
#include "core/base/params.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace banyan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// Writes down what it hears, with the line and column of each token.
class Log : public JsonEvents {
 public:
  explicit Log(const JsonReader& reader) : reader_(reader) {}

  absl::Status OnScalar(JsonScalar value) override {
    return Add(Written(value));
  }
  absl::Status OnKey(std::string key) override {
    return Add(absl::StrCat("key ", key));
  }
  absl::Status OnList() override { return Add("list"); }
  absl::Status OnListEnd() override { return Add("list's end"); }
  absl::Status OnObject() override { return Add("object"); }
  absl::Status OnObjectEnd() override { return Add("object's end"); }

  const std::vector<std::string>& events() const { return events_; }

 private:
  absl::Status Add(absl::string_view what) {
    const Origin at = reader_.At(reader_.token_begin());
    events_.push_back(
        absl::StrCat(at.line, ":", at.column, " ", reader_.token(), " ", what));
    return what == "\"stop\"" ? absl::InvalidArgumentError("stopped here")
                              : absl::OkStatus();
  }

  const JsonReader& reader_;
  std::vector<std::string> events_;
};

absl::Status Read(absl::string_view text) {
  JsonReader reader(text, "f");
  Log log(reader);
  return reader.Read(log);
}

// What is said of `text`, without the file's name; "" if it is read.
std::string Refusal(absl::string_view text) {
  const absl::Status status = Read(text);
  if (status.ok()) return "";
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), StartsWith("f:"));
  return std::string(status.message().substr(2));
}

std::string Repeated(absl::string_view text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) absl::StrAppend(&out, text);
  return out;
}

TEST(JsonReader, TellsEveryTokenWithItsPlace) {
  const std::string text =
      "\xEF\xBB\xBF {\"a\\\"\" :[ 1,-2 , 0.5e1,\n  true,false,null],\n"
      "\"b\": {} ,\t\"c\":\"\\u00e9\\\\\"}\r\n";
  JsonReader reader(text, "f");
  Log log(reader);
  EXPECT_EQ(reader.Read(log), absl::OkStatus());
  EXPECT_THAT(
      log.events(),
      ElementsAre("1:5 { object", "1:6 \"a\\\"\" key a\"", "1:13 [ list",
                  "1:15 1 1", "1:17 -2 -2", "1:22 0.5e1 5.0", "2:3 true true",
                  "2:8 false false", "2:14 null null", "2:18 ] list's end",
                  "3:1 \"b\" key b", "3:6 { object", "3:7 } object's end",
                  "3:11 \"c\" key c", "3:15 \"\\u00e9\\\\\" \"é\\\\\"",
                  "3:25 } object's end"));
}

TEST(JsonReader, KeepsWholeNumbersWhole) {
  class Kinds : public Log {
   public:
    using Log::Log;
    absl::Status OnScalar(JsonScalar value) override {
      kinds.push_back(value.index());
      return absl::OkStatus();
    }
    std::vector<std::size_t> kinds;
  };
  JsonReader reader(
      "[0, 18446744073709551615, -1, -9223372036854775808, "
      "18446744073709551616, 1.0, -0]",
      "f");
  Kinds kinds(reader);
  EXPECT_EQ(reader.Read(kinds), absl::OkStatus());
  const std::size_t below = JsonScalar(std::int64_t{-1}).index();
  const std::size_t whole = JsonScalar(std::uint64_t{1}).index();
  const std::size_t other = JsonScalar(1.0).index();
  EXPECT_THAT(kinds.kinds,
              ElementsAre(whole, whole, below, below, other, other, below));
}

TEST(JsonReader, SaysWhatItExpectedAndWhatItFound) {
  const std::string not_json = ": not valid JSON: expected ";
  const std::vector<std::vector<std::string>> cases = {
      {"", "1:1", "a value, found the end"},
      {" \n ", "2:2", "a value, found the end"},
      {"nul", "1:1", "a value, found 'nul'"},
      {"NaN", "1:1", "a value, found 'NaN'"},
      {"-Infinity", "1:1", "a value, found '-Infinity'"},
      {"/* no */ 1", "1:1", "a value, found '/'"},
      {"\xEF\xBB", "1:1", "a value, found '\\xef'"},
      {"1 2", "1:3", "the end, found '2'"},
      {"{} {}", "1:4", "the end, found '{'"},
      {"{}]", "1:3", "the end, found ']'"},
      {"1 \"x\"", "1:3", "the end, found a text"},
      {"[", "1:2", "a value or ']', found the end"},
      {"[,", "1:2", "a value or ']', found ','"},
      {"[1", "1:3", "',' or ']', found the end"},
      {"[1 2]", "1:4", "',' or ']', found '2'"},
      {"[01]", "1:3", "',' or ']', found '1'"},
      {"[1-]", "1:3", "',' or ']', found '-'"},
      {"[1\n, ]", "2:3", "a value, found ']'"},
      {"[1,,2]", "1:4", "a value, found ','"},
      {"[1}", "1:3", "',' or ']', found '}'"},
      {"[+1]", "1:2", "a value or ']', found '+1'"},
      {"[1.]", "1:2", "a value or ']', found '1.'"},
      {"[1, .5]", "1:5", "a value, found '.5'"},
      {"{", "1:2", "a key in double quotes or '}', found the end"},
      {"{a: 1}", "1:2", "a key in double quotes or '}', found 'a'"},
      {"{1: 1}", "1:2", "a key in double quotes or '}', found '1'"},
      {"{'a': 1}", "1:2", "a key in double quotes or '}', found '\\''"},
      {"{\"a\" 1}", "1:6", "':', found '1'"},
      {"{\"a\" \"b\"}", "1:6", "':', found a text"},
      {"{\"a\"", "1:5", "':', found the end"},
      {"{\"a\": }", "1:7", "a value, found '}'"},
      {"{\"a\":: 1}", "1:6", "a value, found ':'"},
      {"{\"a\": True}", "1:7", "a value, found 'True'"},
      {"{\"a\": 1 \"b\": 2}", "1:9", "',' or '}', found a text"},
      {"{\"a\": 1, }", "1:10", "a key in double quotes, found '}'"},
      {"{\"a\": 1, 2}", "1:10", "a key in double quotes, found '2'"},
      {"{\"a\": 1]", "1:8", "',' or '}', found ']'"},
      {"[1e999]", "1:2", "a number that a double can hold, found '1e999'"},
      {"[0, -1e999", "1:5", "a number that a double can hold, found '-1e999'"},
      {"[\"a]", "1:2", "a closing quote for this text, found the end"},
      {"{\"a", "1:2", "a closing quote for this text, found the end"},
      {"[\"a\nb\"]", "1:4",
       "a closing quote or an escape, found the control character '\\n'"},
      {"[\"\x01\"]", "1:3",
       "a closing quote or an escape, found the control character '\\x01'"},
      {"[\"\\\t\"]", "1:4",
       "a closing quote or an escape, found the control character '\\t'"},
      {"[\"\\q\"]", "1:3", "an escape that JSON has, found '\\q'"},
      {"[\"\\u12\"]", "1:3", "an escape that JSON has, found '\\u12\\\"'"},
      {"[\"\\ud800\"]", "1:3", "an escape that JSON has, found '\\ud800\\\"'"},
      {"[\"\\\xC3\xA9\"]", "1:3", "an escape that JSON has, found '\\\\xc3'"},
      {"[\"\\\\\xFF\"]", "1:5", "UTF-8, found the byte '\\xff'"},
      {"[\"a\xFF\"]", "1:4", "UTF-8, found the byte '\\xff'"},
      {"[\"\xC3\xA9\x80\"]", "1:5", "UTF-8, found the byte '\\x80'"},
      {"[\"a\xE2\x82\"]", "1:4", "UTF-8, found the byte '\\xe2'"},
      {"{\"\xC3\": 1}", "1:3", "UTF-8, found the byte '\\xc3'"},
      {"[\xC3\xA9]", "1:2", "a value or ']', found '\\xc3'"},
  };
  for (const std::vector<std::string>& each : cases)
    EXPECT_EQ(Refusal(each[0]), each[1] + not_json + each[2]) << each[0];
}

TEST(JsonReader, TakesAZeroByteForNoEnd) {
  EXPECT_EQ(Refusal(absl::string_view("{}\0", 3)),
            "1:3: not valid JSON: expected the end, found '\\x00'");
  EXPECT_EQ(Refusal(absl::string_view("[1\0]", 4)),
            "1:3: not valid JSON: expected ',' or ']', found '\\x00'");
  EXPECT_EQ(Refusal(absl::string_view("\0", 1)),
            "1:1: not valid JSON: expected a value, found '\\x00'");
}

TEST(JsonReader, RefusesAKeyThatItsObjectHasAlready) {
  EXPECT_EQ(Refusal("{\"a\": 1,\n \"b\": {\"c\": 1, \"c\": 2}}"),
            "2:16: key 'c' is given twice; first given at f:2:8");
  EXPECT_EQ(Refusal("[{\"x\": {\"a\": [{\"a\": 0}]},\n\"a\": 1, \"a\": 2}]"),
            "2:9: key 'a' is given twice; first given at f:2:1");
  EXPECT_EQ(Refusal("{\"\\u0061\\n\": 1, \"a\\u000a\": 2}"),
            "1:17: key 'a\\n' is given twice; first given at f:1:2");
  EXPECT_EQ(Refusal("{\"\": 1, \"\": 2}"),
            "1:9: key '' is given twice; first given at f:1:2");
  EXPECT_EQ(Refusal(absl::StrCat("{\"", Repeated("é", 40), "\":1, \"",
                                 Repeated("é", 40), "\":1}")),
            absl::StrCat("1:88: key '", Repeated("é", 30),
                         "...' is given twice; first given at f:1:2"));
  EXPECT_EQ(Refusal(R"({"a": {"a": 1}, "b": [{"a": 1}, {"a": 2}]})"), "");
}

// A thousand keys that share their first letters, and one of them again.
TEST(JsonReader, TellsManyKeysApart) {
  std::string text = "{";
  for (int i = 0; i < 1000; ++i)
    absl::StrAppend(&text, "\"key ", i, "\": ", i, ",");
  EXPECT_EQ(Refusal(text + "\"key\": 0}"), "");
  EXPECT_THAT(Refusal(text + "\"key 500\": 0}"),
              HasSubstr("key 'key 500' is given twice; first given at f:1:"));
}

TEST(JsonReader, BoundsTheLevels) {
  EXPECT_EQ(Refusal(Repeated("[", 64) + Repeated("]", 64)), "");
  EXPECT_EQ(Refusal(Repeated("[", 65) + Repeated("]", 65)),
            "1:65: more than 64 levels");
  EXPECT_EQ(Refusal(Repeated("{\"a\":", 65)), "1:321: more than 64 levels");
  EXPECT_EQ(Refusal(Repeated("[\n", 10'000'000)), "65:1: more than 64 levels");
  EXPECT_EQ(Refusal(absl::StrCat("[", Repeated("[[]],", 100), "[]]")), "");
}

TEST(JsonReader, EndsAtTheFirstErrorOfItsListener) {
  JsonReader reader("[1, \"stop\", 2, oh", "f");
  Log log(reader);
  EXPECT_EQ(reader.Read(log), absl::InvalidArgumentError("stopped here"));
  EXPECT_THAT(log.events(),
              ElementsAre("1:1 [ list", "1:2 1 1", "1:5 \"stop\" \"stop\""));
}

TEST(JsonReader, CountsLinesFromWhereTheTextBegins) {
  JsonReader reader("{\"a\": 1,\n\"a\": 2}", "f", 7);
  Log log(reader);
  EXPECT_EQ(std::string(reader.Read(log).message()),
            "f:8:1: key 'a' is given twice; first given at f:7:2");
}

// Whatever a byte is changed to, the answer is ours and has a place.
TEST(JsonReader, NeverSpeaksInTheWordsOfTheLibrary) {
  const std::string text =
      "{\"a\": [1, -2.5e3, true, null],\n \"b\\n\": {\"c\": \"\\u00e9é\"}}";
  for (std::size_t i = 0; i <= text.size(); ++i) {
    std::vector<std::string> broken = {text.substr(0, i)};
    for (int byte = 0; byte < 256 && i < text.size(); ++byte) {
      broken.push_back(text);
      broken.back()[i] = static_cast<char>(byte);
    }
    for (const std::string& each : broken) {
      const std::string refusal = Refusal(each);
      if (refusal.empty()) continue;
      EXPECT_THAT(refusal, testing::ContainsRegex("^[1-3]:[0-9]+: .*, found "))
          << each;
      for (const char* word :
           {"exception", "parse error", "syntax error", "while parsing",
            "unexpected", "literal", "last read", "overflow"})
        EXPECT_THAT(refusal, Not(HasSubstr(word))) << each;
    }
  }
}

}  // namespace
}  // namespace banyan
