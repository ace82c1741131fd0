#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/base/common.h"
#include "core/json/json_value.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace banyan {
namespace {

using testing::ElementsAre;

JsonTree Tree(absl::string_view text) {
  absl::StatusOr<JsonTree> tree = JsonTree::Parse(text, "f.json");
  EXPECT_TRUE(tree.ok()) << tree.status();
  return *std::move(tree);
}

template <typename T>
std::string Refusal(const absl::StatusOr<T>& value) {
  return value.ok() ? "it was read" : std::string(value.status().message());
}

TEST(JsonAt, GivesWhatStandsThere) {
  const JsonTree tree = Tree(
      R"({"t": "a", "n": -3, "w": 9223372036854775807, "x": 0.5, "yes": true,
          "none": null, "list": [1, ["b"]], "in": {"t": "é"}})");
  const JsonAt at = tree.root();
  EXPECT_EQ(*at.At("t").String(), "a");
  EXPECT_EQ(*at.At("t").FindString(), "a");
  EXPECT_EQ(at.At("n").FindString(), nullptr);
  EXPECT_EQ(*at.At("n").Int(), -3);
  EXPECT_EQ(*at.At("w").Int(), 9223372036854775807);
  EXPECT_EQ(*at.At("n").Number(), -3);
  EXPECT_EQ(*at.At("x").Number(), 0.5);
  EXPECT_TRUE(*at.At("yes").Bool());
  EXPECT_EQ(*at.At("list").At(1).At(0).String(), "b");
  EXPECT_EQ(at.At("list").Items()->size(), 2U);
  EXPECT_EQ(*at.At("in").At("t").Character(), "é");
  EXPECT_EQ(at.size(), 8U);
  EXPECT_EQ(at.At("list").size(), 2U);
  EXPECT_EQ(at.At("t").size(), 0U);
}

TEST(JsonAt, ANullIsThereAndAMissingKeyIsNot) {
  const JsonTree tree = Tree(R"({"none": null, "": {"": 1}})");
  const JsonAt at = tree.root();
  EXPECT_TRUE(at.At("none").exists());
  EXPECT_TRUE(at.At("none").is_null());
  EXPECT_FALSE(at.At("nothing").exists());
  EXPECT_TRUE(at.At("nothing").is_null());
  EXPECT_TRUE(at.At("nothing").At("deeper").is_null());
  EXPECT_FALSE(at.At("").is_null());
  EXPECT_EQ(*at.At("").At("").Int(), 1);
  EXPECT_TRUE(at.At("").At("").At("").is_null());
  EXPECT_EQ(*at.At("nothing").StringOr("b"), "b");
  EXPECT_EQ(*at.At("none").StringOr("b"), "b");
  EXPECT_TRUE(*at.At("none").BoolOr(true));
}

TEST(JsonAt, NamesThePathAndWhatStandsThere) {
  const JsonTree tree = Tree(
      R"({"a": {"b": [0, {"c": "x"}]}, "n": 1.0, "big": 9223372036854775808,
          "list": [], "tab\t": 1, "same": "x"})");
  const JsonAt at = tree.root();
  const JsonAt c = at.At("a").At("b").At(1).At("c");
  EXPECT_EQ(Refusal(c.Int()),
            "f.json: a.b[1].c: expected a whole number, found \"x\"");
  EXPECT_EQ(Refusal(c.Number()),
            "f.json: a.b[1].c: expected a number, found \"x\"");
  EXPECT_EQ(Refusal(c.At("d").At("e").Bool()),
            "f.json: a.b[1].c.d.e: expected true or false, found no such key");
  EXPECT_EQ(Refusal(at.At("n").Int()),
            "f.json: n: expected a whole number, found 1.0");
  EXPECT_EQ(Refusal(at.At("big").Int()),
            "f.json: big: expected a whole number, found 9223372036854775808");
  EXPECT_EQ(Refusal(at.At("a").String()),
            "f.json: a: expected a text, found an object");
  EXPECT_EQ(Refusal(at.At("list").String()),
            "f.json: list: expected a text, found a list");
  EXPECT_EQ(Refusal(at.At("a").Items()),
            "f.json: a: expected a list, found an object");
  EXPECT_EQ(Refusal(at.At("tab\t").Character()),
            "f.json: tab\\t: expected a text, found 1");
  EXPECT_EQ(Refusal(at.String()), "f.json: expected a text, found an object");
  EXPECT_EQ(at.At("same").Error("odd").message(), "f.json: same: odd");
}

TEST(JsonAt, CutsLongTextsBetweenCharacters) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "é";
  const JsonTree tree = Tree(absl::StrCat("[\"", text, "\"]"));
  EXPECT_EQ(tree.root().At(0).Found(),
            absl::StrCat("\"", text.substr(0, 58), "..."));
}

TEST(JsonAt, ACharacterIsOne) {
  const JsonTree tree = Tree(R"(["", "ab", "éa", "é", "\u0301", "𝄞"])");
  std::vector<bool> is_one;
  for (std::size_t i = 0; i < tree.root().size(); ++i)
    is_one.push_back(tree.root().At(i).Character().ok());
  EXPECT_THAT(is_one, ElementsAre(false, false, false, true, true, true));
}

TEST(JsonAt, VisitsKeysInTheOrderOfTheFile) {
  const JsonTree tree = Tree(R"({"b": 1, "a": 2, "c": 3})");
  std::vector<std::string> keys;
  const absl::Status stopped =
      tree.root().ForEachKey([&](const std::string& key, const JsonAt& value) {
        keys.push_back(key);
        return *value.Int() == 2 ? value.Error("stop") : absl::OkStatus();
      });
  EXPECT_THAT(keys, ElementsAre("b", "a"));
  EXPECT_EQ(stopped.message(), "f.json: a: stop");
}

TEST(JsonAt, SuggestsTheKeyThatWasMeant) {
  const JsonTree tree = Tree(R"({"in": {"tied": 1, "tide": 2}})");
  const JsonAt in = tree.root().At("in");
  EXPECT_EQ(in.HasOnly({"tied", "tide"}), absl::OkStatus());
  EXPECT_EQ(in.HasOnly({"tied", "untied"}).message(),
            "f.json: in.tide: unknown key 'tide'; did you mean 'tied'? known: "
            "tied, untied");
}

TEST(JsonAt, ALineIsNamedByItsNumber) {
  const auto tree = JsonTree::ParseLine("{\"a\": 1}", "f.jsonl", 12);
  ASSERT_TRUE(tree.ok()) << tree.status();
  EXPECT_EQ(Refusal(tree->root().At("a").String()),
            "f.jsonl:12: a: expected a text, found 1");
  EXPECT_EQ(Refusal(JsonTree::ParseLine("[1,", "f.jsonl", 12)),
            "f.jsonl:12:4: not valid JSON: expected a value, found the end");
}

TEST(JsonAt, StaysWhereItIsWhenItsTreeMoves) {
  JsonTree tree = Tree(R"(["a", ["b"]])");
  const JsonAt b = tree.root().At(1).At(0);
  const JsonTree moved = std::move(tree);
  EXPECT_EQ(*b.String(), "b");
  EXPECT_EQ(b.Error("x").message(), "f.json: [1][0]: x");
}

TEST(JsonAt, GivesWhatStandsThereToBeChangedAndWrittenAgain) {
  const std::string text = R"({"b":[1,-2,0.5],"a":{"z":null,"y":"é"},"c":[]})";
  const JsonTree tree = Tree(text);
  EXPECT_EQ(tree.root().Value().Text(), text);
  EXPECT_EQ(tree.root().At("b").At(2).Value().Text(), "0.5");
  EXPECT_TRUE(tree.root().At("none").Value().is_null());
}

}  // namespace
}  // namespace banyan
