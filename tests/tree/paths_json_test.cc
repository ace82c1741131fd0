#include "tree/paths_json.h"

#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/strip.h"
#include "core/base/common.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace banyan {
namespace {

using Paths = std::vector<std::vector<int>>;

Paths Parsed(absl::string_view text, const std::string& name = "") {
  const absl::StatusOr<Paths> paths = ParsePathsJson(text, "t.json", name);
  EXPECT_TRUE(paths.ok()) << paths.status() << "\nin: " << text;
  return paths.ok() ? *paths : Paths();
}

// The message that `text` gets, without the file's name.
std::string Refusal(absl::string_view text, const std::string& name = "") {
  const absl::Status status = ParsePathsJson(text, "t", name).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status << "\nin: " << text;
  absl::string_view message = status.message();
  EXPECT_TRUE(absl::ConsumePrefix(&message, "t:")) << message;
  return std::string(message);
}

std::string Repeated(absl::string_view text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) absl::StrAppend(&out, text);
  return out;
}

TEST(PathsJson, ReadsABareListInItsOrder) {
  EXPECT_EQ(Parsed(" [[1],\n [0], [0, 2]]\n"), (Paths{{1}, {0}, {0, 2}}));
  EXPECT_EQ(Parsed("[]"), Paths());
}

TEST(PathsJson, NeedsNoNameForTheOnlyTree) {
  EXPECT_EQ(Parsed(R"({"small": [[0], [1]]})"), (Paths{{0}, {1}}));
  EXPECT_EQ(Parsed(R"({"small": [[0], [1]]})", "small"), (Paths{{0}, {1}}));
}

TEST(PathsJson, FindsATreeByName) {
  const char* text = R"({"b": [[0]], "a": [[0], [1]]})";
  EXPECT_EQ(Parsed(text, "a"), (Paths{{0}, {1}}));
  EXPECT_EQ(Parsed(text, "b"), (Paths{{0}}));
}

TEST(PathsJson, AllowsOnePathInTwoTrees) {
  EXPECT_EQ(Parsed(R"({"b": [[0]], "a": [[0]]})", "a"), (Paths{{0}}));
}

TEST(PathsJson, RefusesAMissingUnknownOrUselessName) {
  const char* text = R"({"small": [[0]], "large": [[1]]})";
  EXPECT_EQ(Refusal(text),
            "1:1: the file has 2 trees; name one of: large, small");
  EXPECT_EQ(Refusal(text, "smal"),
            "1:1: unknown tree 'smal'; did you mean 'small'? known: large, "
            "small");
  EXPECT_EQ(Refusal("{}"), "1:1: the file has no trees");
  EXPECT_EQ(Refusal("{}", "a"), "1:1: the file has no trees");
  EXPECT_EQ(Refusal("[[0]]", "a"),
            "1:1: tree 'a' is asked for, but the file is one tree without a "
            "name");
}

TEST(PathsJson, NamesBothPlacesOfARepeatedName) {
  EXPECT_EQ(Refusal("{\"a\": [[0]],\n \"a\": [[0]]}"),
            "2:2: key 'a' is given twice; first given at t:1:2");
}

TEST(PathsJson, NamesThePathWithABadRank) {
  const std::string expected =
      "expected ranks that are whole numbers in [0, 1048576)";
  EXPECT_EQ(Refusal("[[0], [1], [2],\n [0, -1]]"),
            "2:2: path 3, [0, -1]: " + expected);
  for (const char* rank : {"-1", "1048576", "4294967296", "1.0", "0.5",
                           "18446744073709551616", "-9223372036854775808"})
    EXPECT_EQ(Refusal(absl::StrCat("[[", rank, "]]")),
              absl::StrCat("1:2: path 0, [", rank, "]: ", expected));
  EXPECT_EQ(Parsed("[[1048575]]"), (Paths{{1048575}}));
}

TEST(PathsJson, RefusesWhatIsNoRank) {
  const std::string expected = ": expected ranks only, found ";
  EXPECT_EQ(Refusal("[[0, \"1\"]]"),
            "1:2: path 0, [0, \"1\"]" + expected + "a text");
  EXPECT_EQ(Refusal("[[null]]"), "1:2: path 0, [null]" + expected + "null");
  EXPECT_EQ(Refusal("[[true]]"),
            "1:2: path 0, [true]" + expected + "true or false");
  EXPECT_EQ(Refusal("[[0], [[1]]]"), "1:7: path 1, [[1]" + expected + "a list");
  EXPECT_EQ(Refusal("[[{}]]"), "1:2: path 0, [{}]" + expected + "an object");
}

TEST(PathsJson, RefusesAnEmptyAndARepeatedPath) {
  EXPECT_EQ(Refusal("[[0], []]"),
            "1:7: path 1, []: an empty path is the root; leave it out");
  EXPECT_EQ(Refusal("[[0, 1], [0], [0,1]]"),
            "1:15: path 2, [0,1]: repeats path 0");
}

TEST(PathsJson, SaysWhatItExpectedInsteadOfAnotherValue) {
  const std::string root =
      "expected a list of paths, or an object of named lists of paths, found ";
  EXPECT_EQ(Refusal("\n 7"), "2:2: " + root + "a number");
  EXPECT_EQ(Refusal("\"x\""), "1:1: " + root + "a text");
  EXPECT_EQ(Refusal("-1"), "1:1: " + root + "a number");
  EXPECT_EQ(Refusal("[[0], 12, [1]]"),
            "1:7: expected a path, a list of ranks, found a number");
  EXPECT_EQ(Refusal("[[0],[1], \"x\"]"),
            "1:11: expected a path, a list of ranks, found a text");
  EXPECT_EQ(Refusal("{\"a\" : null}"),
            "1:8: expected a list of paths, found null");
  EXPECT_EQ(Refusal("{\"a\":\n{}}"),
            "2:1: expected a list of paths, found an object");
}

TEST(PathsJson, NamesThePlaceOfASyntaxError) {
  EXPECT_EQ(Refusal("[[0],\n [1,,]]"),
            "2:5: not valid JSON: expected a value, found ','");
  EXPECT_THAT(Refusal("[[0]] [[1]]"),
              testing::StartsWith("1:7: not valid JSON: "));
}

TEST(PathsJson, SurvivesDeepNesting) {
  for (const char* open : {"[", "{\"a\":", "[{\"a\":"})
    EXPECT_THAT(Refusal(Repeated(open, 100000)),
                testing::HasSubstr("expected"));
}

// 1024 * 1023 leaves, and 1024 nodes above them that are not listed.
TEST(PathsJson, CountsNodesThatPathsPassThrough) {
  std::string most = "[";
  for (int i = 0; i < 1024; ++i)
    for (int j = 0; j < 1023; ++j)
      absl::StrAppend(&most, i + j > 0 ? "," : "", "[", i, ",", j, "]");
  EXPECT_EQ(Refusal(most + "]"),
            "1:1: the tree has 1048576 nodes; expected fewer than 1048576");
  most.resize(most.rfind(','));  // the last path is cut at its comma
  most.resize(most.rfind(','));  // and left out
  EXPECT_EQ(Parsed(most + "]").size(), 1024u * 1023u - 1);
}

TEST(PathsJson, WritesWhatItReads) {
  const Paths paths = {{0}, {0, 0}, {1}, {2, 3, 4}};
  EXPECT_EQ(PathsToJson(paths), "[[0], [0, 0], [1], [2, 3, 4]]");
  EXPECT_EQ(Parsed(PathsToJson(paths)), paths);
  EXPECT_EQ(PathsToJson({}), "[]");
}

TEST(PathsJson, ReadsAFileAndNamesItInErrors) {
  const std::string path = testing::TempDir() + "/reads_a_file.json";
  std::ofstream(path) << "{\"a\": [[0]]}";
  const absl::StatusOr<Paths> paths = ReadPathsFile(path, "a");
  ASSERT_TRUE(paths.ok()) << paths.status();
  EXPECT_EQ(*paths, (Paths{{0}}));
  EXPECT_EQ(ReadPathsFile(path, "b").status().message(),
            path + ":1:1: unknown tree 'b'; known: a");
}

TEST(PathsJson, SaysThatAMissingFileIsMissing) {
  const absl::Status status = ReadPathsFile("no/such.json", "").status();
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_EQ(status.message(), "no/such.json: No such file or directory");
}

}  // namespace
}  // namespace banyan
