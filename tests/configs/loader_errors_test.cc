// What the loader refuses: each text with the whole message it gets.
#include <string>

#include "absl/strings/strip.h"
#include "configs/loader/yaml.h"
#include "core/base/common.h"
#include "core/base/params.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace banyan {
namespace {

// The message that `text` gets, without the file's name.
std::string Refusal(absl::string_view text) {
  const absl::Status status = ParseYaml(text, "c").status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status << "\nin:\n" << text;
  absl::string_view message = status.message();
  EXPECT_TRUE(absl::ConsumePrefix(&message, "c:")) << message;
  return std::string(message);
}

std::string Repeated(absl::string_view text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) absl::StrAppend(&out, text);
  return out;
}

TEST(Loader, NamesBothPlacesOfARepeatedKey) {
  EXPECT_EQ(Refusal("gamma: 1\nseed: 2\n'gamma': 3\n"),
            "3:1: key 'gamma' is given twice; first given at c:1:1");
  EXPECT_EQ(Refusal("a:\n  - {x: 1, y: 2, x: 1}\n"),
            "2:18: key 'x' is given twice; first given at c:2:6");
}

TEST(Loader, RefusesKeysThatAreNoTexts) {
  EXPECT_EQ(Refusal("? - a\n: 1\n"),
            "1:3: expected a text as key, found a list");
  EXPECT_EQ(
      Refusal("? [a]\n: 1\n"),
      "1:3: expected a text as key, found a list; is its bracket closed?");
  EXPECT_EQ(Refusal("{{a: b}: 1}"),
            "1:2: expected a text as key, found a map; is its bracket closed?");
  EXPECT_EQ(Refusal("~: 1"), "1:1: expected a text as key, found nothing");
  EXPECT_EQ(Refusal(": 1"), "1:1: expected a text as key, found nothing");
  EXPECT_EQ(Refusal("a: &x b\n*x : 1\n"),
            "2:1: expected a text as key, found an alias");
  EXPECT_EQ(Refusal("&x a: 1\n"), "1:1: an anchor on a key is not supported");
}

TEST(Loader, RefusesAnEmptyFile) {
  for (const char* text : {"", "\n\n", "# comment\n", "---\n", "~", "null\n"})
    EXPECT_EQ(Refusal(text), "1:1: the file is empty; expected a map") << text;
}

TEST(Loader, RefusesASecondDocumentAtItsPlace) {
  const std::string message =
      "a second document, or text after the end of the first, starts here; "
      "expected one document";
  EXPECT_EQ(Refusal("a: 1\n---\nb: 2\n"), "2:1: " + message);
  EXPECT_EQ(Refusal("a: 1\n--- # nothing\n"), "2:1: " + message);
  EXPECT_EQ(Refusal("\"a\" \"b\""), "1:5: " + message);
  EXPECT_EQ(Refusal(", a"), "1:1: " + message);
}

TEST(Loader, RefusesTags) {
  const std::string end = "' is not supported; write the value without a tag";
  EXPECT_EQ(Refusal("a: !!python/object:os.system [ls]\n"),
            "1:4: tag 'tag:yaml.org,2002:python/object:os.system" + end);
  EXPECT_EQ(Refusal("a: !!str 1\n"), "1:4: tag 'tag:yaml.org,2002:str" + end);
  EXPECT_EQ(Refusal("a: !mine\nb: 1\n"), "1:4: tag '!mine" + end);
  EXPECT_EQ(Refusal("!mine {a: 1}"), "1:1: tag '!mine" + end);
  EXPECT_EQ(Refusal("--- !mine"), "1:5: tag '!mine" + end);
  EXPECT_EQ(Refusal("!mine a: 1"), "1:1: tag '!mine" + end);
}

TEST(Loader, RefusesMoreThan64Levels) {
  const std::string open = Repeated("[", 64), close = Repeated("]", 64);
  EXPECT_TRUE(ParseYaml(open + "x" + close, "c").ok());
  EXPECT_EQ(Refusal(open + "[" + close + "]"), "1:65: more than 64 levels");
  EXPECT_EQ(Refusal(Repeated("- ", 65) + "a"), "1:129: more than 64 levels");
}

TEST(Loader, SurvivesThousandsOfOpenBrackets) {
  for (const char* open : {"[", "{a: ", "- ", "? ", "{", "[[{"})
    EXPECT_THAT(Refusal(Repeated(open, 20000)), testing::HasSubstr(": "));
}

TEST(Loader, RefusesMoreThan64LevelsMadeByAliases) {
  std::string text = "a0: &a0 [x]\n";
  for (int i = 1; i < 63; ++i)
    absl::StrAppend(&text, "a", i, ": &a", i, " [*a", i - 1, "]\n");
  EXPECT_TRUE(ParseYaml(text, "c").ok());
  EXPECT_EQ(Refusal(text + "b: [*a62]"),
            "64:5: more than 64 levels once the alias is copied");
}

TEST(Loader, RefusesExponentiallyManyAliases) {
  std::string text = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n";
  for (int i = 1; i < 10; ++i)
    absl::StrAppend(&text, "a", i, ": &a", i, " [",
                    Repeated(absl::StrCat("*a", i - 1, ","), 10), "]\n");
  EXPECT_THAT(Refusal(text), testing::MatchesRegex(
                                 "6:[0-9]+: more than 1000000 values, counting "
                                 "the copies made for aliases"));
}

TEST(Loader, RefusesManyCopiesOfOneLongText) {
  const std::string text = "a: &a " + Repeated("x", 1 << 20) + "\nb: [" +
                           Repeated("*a,", 70) + "]\n";
  EXPECT_THAT(Refusal(text), testing::HasSubstr("more than 1000000 values"));
}

TEST(Loader, RefusesAliasesWithoutAValueToCopy) {
  EXPECT_EQ(Refusal("a: 1\nb: *x\n"),
            "2:4: not valid YAML: the referenced anchor is not defined");
  EXPECT_EQ(Refusal("a: *x\nb: &x 1\n"),
            "1:4: not valid YAML: the referenced anchor is not defined");
  EXPECT_EQ(Refusal("a: &x [1, *x]\n"),
            "1:11: the alias stands inside the value it names");
}

TEST(Loader, RefusesWhatIsNoYamlAtItsPlace) {
  EXPECT_EQ(Refusal("a: [1, 2\nb: 3\n"),
            "2:2: not valid YAML: end of sequence flow not found");
  EXPECT_EQ(Refusal("a:\n    b: 1\n  c: 2\n"),
            "3:3: not valid YAML: end of map not found");
  EXPECT_EQ(Refusal("a: \"\\q\"\n"),
            "1:7: not valid YAML: unknown escape character: q");
  EXPECT_EQ(Refusal("a: 'b\n"),
            "2:1: not valid YAML: a quoted text is not closed");
  EXPECT_EQ(Refusal("a: \"b\nc: 1"),
            "3:1: not valid YAML: a quoted text is not closed");
  EXPECT_EQ(Refusal("a: 1\nb\nc: 2\n"),
            "3:2: not valid YAML: illegal map value");
}

TEST(Loader, RefusesALastLineWithoutAColon) {
  EXPECT_EQ(Refusal("name: chain\ngamma 4\n"),
            "2:1: expected ':' after 'gamma 4'");
  EXPECT_EQ(Refusal("a:\n  b: 1\n  c"), "3:3: expected ':' after 'c'");
  EXPECT_TRUE(ParseYaml("? a\n", "c").ok());
}

TEST(Loader, PointsAtABracketThatIsNotClosed) {
  EXPECT_EQ(Refusal("seeds: [1, 2\n"),
            "1:12: expected a closing bracket after '2'");
  EXPECT_EQ(
      Refusal("- [1, 2\n- 3"),
      "1:3: expected a text as key, found a list; is its bracket closed?");
  EXPECT_EQ(Refusal("- {a: 1\n- 3"),
            "1:3: expected a text as key, found a map; is its bracket closed?");
}

TEST(Loader, RefusesDirectives) {
  const std::string message = ": directives ('%' lines) are not supported";
  EXPECT_EQ(Refusal("%YAML 1.2\n---\na: 1\n"), "1:1" + message);
  EXPECT_EQ(Refusal("\xEF\xBB\xBF # c\n\n%a: 1\nb: 2\n"), "3:1" + message);
  EXPECT_TRUE(ParseYaml("a: |\n  x\n  %y\n", "c").ok());
}

TEST(Loader, RefusesCharactersThatYamlCppWouldMisread) {
  EXPECT_EQ(Refusal("a: b\nc: caf\xE9\n"), "2:7: byte 0xe9 is not UTF-8");
  EXPECT_EQ(Refusal("a: \xC3"), "1:4: byte 0xc3 is not UTF-8");
  EXPECT_EQ(Refusal("\xFF\xFE"
                    "a"),
            "1:1: byte 0xff is not UTF-8");
  EXPECT_EQ(Refusal(absl::string_view("a\0b", 3)),
            "1:2: control character 0x00");
  EXPECT_EQ(Refusal("a: 1\n\x04\nb: 2\n"), "2:1: control character 0x04");
  EXPECT_EQ(Refusal("a: 1 # one\rb: 2\n"),
            "1:11: a carriage return without a line feed");
  EXPECT_EQ(Refusal("a: \"\\N\"\n"),
            "1:4: the escapes \\N and \\_ are not supported");
}

// Overlong forms, surrogates and numbers above 0x10FFFF, and their neighbours.
TEST(Loader, KnowsTheLimitsOfUtf8) {
  for (const char* bad :
       {"\xC0\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80",
        "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\x80", "\xE2\x82",
        "\xF5\x80\x80\x80", "\xC3("})
    EXPECT_THAT(Refusal(bad), testing::HasSubstr("is not UTF-8")) << bad;
  for (const char* good :
       {"\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80",
        "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"}) {
    const absl::StatusOr<Params> params = ParseYaml(good, "c");
    ASSERT_TRUE(params.ok()) << params.status();
    EXPECT_EQ(params->text(), good);
  }
}

TEST(Loader, RefusesMoreThan16MiB) {
  std::string text = "#" + std::string((16 << 20) - 5, ' ') + "\na: 1";
  EXPECT_EQ(Refusal(text + "0"), "1:1: the file is larger than 16777216 bytes");
  EXPECT_TRUE(ParseYaml(text.substr(1 << 20), "c").ok());
}

}  // namespace
}  // namespace banyan
