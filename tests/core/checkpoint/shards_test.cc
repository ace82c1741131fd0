#include <memory>
#include <string>
#include <vector>

#include "core/base/common.h"
#include "core/checkpoint/checkpoint.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/checkpoint/files.h"

namespace banyan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kIndex[] = "model.safetensors.index.json";

// weight_map that sends every tensor of `first` to one.safetensors and the
// others to two.safetensors, but `changed` to `shard`.
std::string Index(const MadeTensors& first, const std::string& changed,
                  const std::string& shard) {
  std::vector<std::string> entries;
  for (const auto& [name, tensor] : SmallTensors()) {
    const std::string file =
        first.count(name) > 0 ? "one.safetensors" : "two.safetensors";
    entries.push_back(absl::StrCat("\"", name, "\": \"",
                                   name == changed ? shard : file, "\""));
  }
  return absl::StrCat("{\"metadata\": {\"total_size\": 1}, \"weight_map\": {",
                      absl::StrJoin(entries, ", "), "}}");
}

// A folder with the small model in two files and its index.
class Shards : public testing::Test {
 protected:
  Shards() {
    MadeTensors second;
    for (const auto& entry : SmallTensors())
      (entry.first < "model.layers.0.self" ? first_ : second).insert(entry);
    second["not.in.the.index"] = {"U8", {1}, "x"};
    folder_.Write("config.json", SmallConfig());
    folder_.Write("one.safetensors", SafetensorsFile(first_));
    folder_.Write("two.safetensors", SafetensorsFile(second));
    folder_.Write(kIndex, Index(first_, "", ""));
  }

  std::string Refusal(const std::string& index) {
    folder_.Write(kIndex, index);
    const auto opened = Checkpoint::Open(folder_.path());
    if (opened.ok()) return "it was opened";
    EXPECT_TRUE(absl::IsInvalidArgument(opened.status()));
    return std::string(opened.status().message());
  }

  TestFolder folder_;
  MadeTensors first_;
};

TEST_F(Shards, AreReadAsOne) {
  const auto opened = Checkpoint::Open(folder_.path());
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_THAT((*opened)->warnings(),
              ElementsAre(folder_.path() +
                          ": 1 tensor is not read: 'not.in.the.index'"));
  std::vector<float> row(4);
  const auto& architecture = (*opened)->architecture();
  ASSERT_TRUE(
      (*opened)
          ->ReadRows(architecture.embedding, {0, 1}, absl::MakeSpan(row))
          .ok());
  EXPECT_THAT(row, ElementsAre(1, 2, 3, 4));
  ASSERT_TRUE(
      (*opened)
          ->ReadRows(architecture.layers[0].query, {0, 1}, absl::MakeSpan(row))
          .ok());
  EXPECT_THAT(row, ElementsAre(25, 26, 27, 28));
  // A shard's tensors count only as far as the index names them.
  EXPECT_TRUE(absl::IsNotFound(
      (*opened)->Tensor({"not.in.the.index", {1}, 1, 1}).status()));
}

TEST_F(Shards, ASingleFileGoesBeforeThem) {
  MadeTensors tensors = SmallTensors();
  tensors["model.embed_tokens.weight"].data =
      Stored(std::vector<float>(20, 7.0f));
  folder_.Write("model.safetensors", SafetensorsFile(tensors));
  const auto opened = Checkpoint::Open(folder_.path());
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_THAT(
      (*opened)->warnings(),
      ElementsAre(absl::StrCat(folder_.path(), "/", kIndex,
                               " is passed over: model.safetensors is there")));
  std::vector<float> row(4);
  ASSERT_TRUE((*opened)
                  ->ReadRows((*opened)->architecture().embedding, {0, 1},
                             absl::MakeSpan(row))
                  .ok());
  EXPECT_THAT(row, ElementsAre(7, 7, 7, 7));
}

TEST_F(Shards, ThatAreMissingOrElsewhereAreRefused) {
  EXPECT_THAT(Refusal(Index(first_, "lm_head.weight", "three.safetensors")),
              HasSubstr("weight_map: 'lm_head.weight': " + folder_.path() +
                        "/three.safetensors: No such file"));
  EXPECT_THAT(Refusal(Index(first_, "lm_head.weight", "two.safetensors")),
              HasSubstr("'lm_head.weight': " + folder_.path() +
                        "/two.safetensors has no such tensor"));
  for (const std::string elsewhere :
       {"../one.safetensors", "/one.safetensors", "a/one.safetensors", "..",
        ".", "", "a\\\\b", "a\\u0000b"})
    EXPECT_THAT(Refusal(Index(first_, "lm_head.weight", elsewhere)),
                HasSubstr("expected the name of a file beside this one"))
        << elsewhere;
  EXPECT_THAT(Refusal(Index(first_, "lm_head.weight", "config.json")),
              HasSubstr("/config.json: expected a header"));
}

TEST_F(Shards, AnIndexThatIsNoneIsRefused) {
  EXPECT_THAT(Refusal("{}"),
              HasSubstr("weight_map: expected an object of texts, found no"));
  EXPECT_THAT(Refusal(R"({"weight_map": []})"), HasSubstr("found a list"));
  EXPECT_THAT(Refusal(R"({"weight_map": {"a": 1}})"),
              HasSubstr("weight_map: 'a': expected a text, found 1"));
  EXPECT_THAT(Refusal(R"({"weight_map": {"a": "x", "a": "x"}})"),
              HasSubstr("key 'a' is given twice"));
  EXPECT_THAT(Refusal(R"({"weight_map": {}})"),
              HasSubstr("12 of the weights missing"));
  EXPECT_THAT(Refusal("{"), HasSubstr(".index.json:1:2: not valid JSON: "));
}

}  // namespace
}  // namespace banyan
