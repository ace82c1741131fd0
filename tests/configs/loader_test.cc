// What the loader reads, and the place of every value. What it refuses stands
// in loader_errors_test.cc.
#include <filesystem>
#include <fstream>
#include <string>

#include "configs/loader/yaml.h"
#include "core/base/common.h"
#include "core/base/params.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace banyan {
namespace {

using testing::HasSubstr;
using Kind = Params::Kind;

Params Parsed(const std::string& text) {
  absl::StatusOr<Params> params = ParseYaml(text, "c.yaml");
  EXPECT_TRUE(params.ok()) << params.status() << "\nin:\n" << text;
  return params.ok() ? *params : Params();
}

// "line:column" of a value or key.
std::string Place(const Origin& at) {
  EXPECT_TRUE(at.file != nullptr && *at.file == "c.yaml");
  return absl::StrCat(at.line, ":", at.column);
}

// Kind, place and text of everything, in one line.
std::string Shown(const Params& value) {
  std::string out = absl::StrCat("@", Place(value.origin()));
  if (value.kind() == Kind::kNull) return absl::StrCat("null", out);
  if (value.kind() == Kind::kScalar)
    return absl::StrCat("'", value.text(), "'", out);
  const bool is_map = value.kind() == Kind::kMap;
  absl::StrAppend(&out, is_map ? "{" : "[");
  for (const Params& item : value.items())
    absl::StrAppend(&out, " ", Shown(item));
  for (const Params::Entry& entry : value.entries())
    absl::StrAppend(&out, " ", entry.key, "@", Place(entry.key_origin), "=",
                    Shown(entry.value));
  return absl::StrCat(out, is_map ? " }" : " ]");
}

TEST(Loader, ReadsBlockMapsAndListsWithThePlaceOfEveryKeyAndValue) {
  EXPECT_EQ(Shown(Parsed("# comment\n"
                         "policy:\n"
                         "  name: chain\n"
                         "seeds:\n"
                         "  - 1\n"
                         "  - - 2\n"
                         "    - 3\n")),
            "@2:1{ policy@2:1=@3:3{ name@3:3='chain'@3:9 } "
            "seeds@4:1=@5:3[ '1'@5:5 @6:5[ '2'@6:7 '3'@7:7 ] ] }");
}

TEST(Loader, ReadsFlowMapsAndListsWithThePlaceOfEveryKeyAndValue) {
  EXPECT_EQ(Shown(Parsed("{a: [1, [2]], \"b\": {c: d}}")),
            "@1:1{ a@1:2=@1:5[ '1'@1:6 @1:9[ '2'@1:10 ] ] "
            "b@1:15=@1:20{ c@1:21='d'@1:24 } }");
}

TEST(Loader, TakesUnquotedNullAndNothingAsNull) {
  const Params map = Parsed("a: null\nb: ~\nc: NULL\nd: Null\ne:\nf: {g, h: }");
  for (const char* key : {"a", "b", "c", "d", "e"})
    EXPECT_EQ(map.Find(key)->kind(), Kind::kNull) << key;
  EXPECT_EQ(map.Find("f")->Find("g")->kind(), Kind::kNull);
  EXPECT_EQ(map.Find("f")->Find("h")->kind(), Kind::kNull);
}

TEST(Loader, KeepsQuotedScalarsAsText) {
  EXPECT_EQ(
      Shown(Parsed("['null', \"~\", '', \"a\\n\\u00e9\", 'it''s', ! null]")),
      "@1:1[ 'null'@1:2 '~'@1:10 ''@1:15 'a\n\xc3\xa9'@1:19 "
      "'it's'@1:32 'null'@1:41 ]");
}

TEST(Loader, LeavesTheMeaningOfAPlainScalarToItsReader) {
  EXPECT_EQ(Shown(Parsed("[010, yes, 1e3, .nan, 2001-01-01, a b]")),
            "@1:1[ '010'@1:2 'yes'@1:7 '1e3'@1:12 '.nan'@1:17 "
            "'2001-01-01'@1:23 'a b'@1:35 ]");
}

TEST(Loader, ReadsLiteralAndFoldedTexts) {
  const Params map = Parsed("a: |\n  x\n   y\nb: >-\n  x\n  y\n");
  EXPECT_EQ(map.Find("a")->text(), "x\n y\n");
  EXPECT_EQ(map.Find("b")->text(), "x y");
}

TEST(Loader, PlacesAValueLeftOutAtItsKey) {
  const Params map = Parsed("a: 1\ngamma:\n\n\nbeta: 2\n");
  EXPECT_EQ(Place(map.Find("gamma")->origin()), "2:1");
  EXPECT_EQ(Shown(Parsed("{a: , b: ~}")),
            "@1:1{ a@1:2=null@1:5 b@1:7=null@1:10 }");
}

TEST(Loader, CopiesAnAliasWithThePlaceWhereItsValueWasWritten) {
  const Params map =
      Parsed("base: &b {x: &n [1]}\nfirst: *b\nsecond: [*n, *b]\n");
  EXPECT_EQ(Shown(*map.Find("first")), Shown(*map.Find("base")));
  EXPECT_EQ(Shown(*map.Find("second")),
            "@3:9[ @1:14[ '1'@1:18 ] @1:7{ x@1:11=@1:14[ '1'@1:18 ] } ]");
}

TEST(Loader, LetsALaterAnchorReplaceAnEarlierOne) {
  const Params map = Parsed("a: &x 1\nb: *x\nc: &x 2\nd: *x\n");
  EXPECT_EQ(map.Find("b")->text(), "1");
  EXPECT_EQ(map.Find("d")->text(), "2");
}

TEST(Loader, AllowsOneKeyInTwoMaps) {
  EXPECT_EQ(Parsed("a: {x: 1}\nb: {x: 2}").Find("b")->Find("x")->text(), "2");
}

TEST(Loader, KeepsTheOrderOfKeys) {
  const Params map = Parsed("z: 1\na: 2\nm: 3\n");
  ASSERT_EQ(map.entries().size(), 3u);
  EXPECT_EQ(map.entries()[0].key, "z");
  EXPECT_EQ(map.entries()[2].key, "m");
}

TEST(Loader, ReadsAByteOrderMarkWindowsLineEndsAndDocumentMarks) {
  EXPECT_EQ(Shown(Parsed("\xEF\xBB\xBF# c\r\n---\r\na: 1\r\nb: 2\r\n...\r\n")),
            "@3:1{ a@3:1='1'@3:4 b@4:1='2'@4:4 }");
}

TEST(Loader, CountsColumnsInBytes) {
  EXPECT_EQ(Shown(Parsed("{\xC3\xA9: 1}")), "@1:1{ \xC3\xA9@1:2='1'@1:6 }");
}

TEST(Loader, ReadsAScalarOrAListAsTheWholeDocument) {
  EXPECT_EQ(Shown(Parsed("alone")), "'alone'@1:1");
  EXPECT_EQ(Shown(Parsed("- a")), "@1:1[ 'a'@1:3 ]");
}

TEST(Loader, LoadsAFileAndNamesItByItsPath) {
  const std::string path = testing::TempDir() + "/loads_a_file.yaml";
  std::ofstream(path) << "gamma: x\n";
  const absl::StatusOr<Params> params = LoadYamlFile(path);
  ASSERT_TRUE(params.ok()) << params.status();
  int gamma = 0;
  EXPECT_EQ(Convert(*params->Find("gamma"), gamma).message(),
            path + ":1:8: expected a whole number, found 'x'");
}

// Writes a file in the tests' folder and gives its path.
std::string Written(const std::string& name, const std::string& text) {
  const std::string path =
      (std::filesystem::path(testing::TempDir()) / name).string();
  std::ofstream(path) << text;
  return path;
}

TEST(Loader, IncludesAnotherFileWithItsPlaces) {
  const std::string curve = Written("curve.yaml", "1: 10.5\n64: x\n");
  const std::string path = Written(
      "includes.yaml", "a: !include curve.yaml\nb: [!include curve.yaml]");
  const absl::StatusOr<Params> params = LoadYamlFile(path);
  ASSERT_TRUE(params.ok()) << params.status();
  EXPECT_EQ(params->Find("a")->Find("1")->text(), "10.5");
  EXPECT_EQ(params->Find("b")->items()[0].Find("64")->Error("no").message(),
            curve + ":2:5: no");
}

TEST(Loader, RefusesWhatCannotBeIncluded) {
  const auto refusal = [](const std::string& name, const std::string& text) {
    return std::string(LoadYamlFile(Written(name, text)).status().message());
  };
  Written("inner.yaml", "a: !include curve.yaml\n");
  Written("broken.yaml", "a: [\n");
  EXPECT_THAT(refusal("i.yaml", "a: !include none.yaml"),
              HasSubstr("i.yaml:1:4: !include: "));
  EXPECT_THAT(refusal("i.yaml", "a: !include none.yaml"),
              HasSubstr("none.yaml: No such file or directory"));
  EXPECT_THAT(refusal("i.yaml", "a: !include inner.yaml"),
              HasSubstr("inner.yaml:1:4: tag '!include' is not supported"));
  EXPECT_THAT(refusal("i.yaml", "a: !include broken.yaml"),
              HasSubstr("broken.yaml:"));
  EXPECT_THAT(refusal("i.yaml", "a: &x !include curve.yaml"),
              HasSubstr("an anchor on an included file"));
  EXPECT_THAT(refusal("i.yaml", "!include curve.yaml : 1"),
              HasSubstr("tag '!include' is not supported"));
  EXPECT_THAT(
      std::string(ParseYaml("a: !include c.yaml", "t").status().message()),
      HasSubstr("t:1:4: tag '!include' is not supported"));
}

TEST(Loader, SaysThatAMissingFileIsMissing) {
  const absl::Status status = LoadYamlFile("no/such.yaml").status();
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_EQ(status.message(), "no/such.yaml: No such file or directory");
}

TEST(Loader, RefusesADirectoryByName) {
  const absl::Status status = LoadYamlFile(testing::TempDir()).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_EQ(status.message(), testing::TempDir() + ": Is a directory");
}

TEST(Loader, RefusesADevice) {
  const absl::Status status = LoadYamlFile("/dev/zero").status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_EQ(status.message(),
            "/dev/zero: expected an ordinary file, found a device");
}

// With a note of the present name and the place.
TEST(Loader, ReadsKeysUnderTheirEarlierNames) {
  testing::internal::CaptureStderr();
  const absl::StatusOr<Params> read = ParseYaml(
      "policy: {law: independent}\nmethods.chain.policy.law: x\nlaws: y\n",
      "a.yaml");
  const std::string told = testing::internal::GetCapturedStderr();
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_NE(read->Find("policy"), nullptr);
  ASSERT_NE(read->Find("policy")->Find("draws"), nullptr);
  EXPECT_EQ(read->Find("policy")->Find("draws")->text(), "independent");
  EXPECT_NE(read->Find("methods.chain.policy.draws"), nullptr);
  EXPECT_NE(read->Find("laws"), nullptr);
  EXPECT_EQ(told,
            "banyan: note: a.yaml:1:10: 'law' is now called 'draws'\n"
            "banyan: note: a.yaml:2:1: 'law' is now called 'draws'\n");
  EXPECT_THAT(ParseYaml("draws: a\nlaw: b\n", "a.yaml").status().message(),
              testing::HasSubstr("key 'draws' is given twice"));
}

// {python: "module:Class"} is short for a name and a class.
TEST(Loader, NamesPartsInPython) {
  const absl::StatusOr<Params> read = ParseYaml(
      "verifier: {python: 'mine:Careful', share: 0.9}\n"
      "named: {name: chain, python: x}\n"
      "list: {python: [x]}\n",
      "a.yaml");
  ASSERT_TRUE(read.ok()) << read.status();
  const Params& verifier = *read->Find("verifier");
  ASSERT_NE(verifier.Find("name"), nullptr);
  EXPECT_EQ(verifier.Find("name")->text(), kPythonPart);
  EXPECT_EQ(verifier.Find("class")->text(), "mine:Careful");
  EXPECT_EQ(verifier.Find("share")->text(), "0.9");
  EXPECT_EQ(verifier.Find("python"), nullptr);
  EXPECT_EQ(verifier.PlaceOf("name").column, 12);
  EXPECT_EQ(PartName(verifier), "mine:Careful");
  EXPECT_EQ(PartName(*read->Find("named")), "chain");
  EXPECT_NE(read->Find("named")->Find("python"), nullptr);
  EXPECT_EQ(read->Find("list")->Find("name"), nullptr);
}

}  // namespace
}  // namespace banyan
