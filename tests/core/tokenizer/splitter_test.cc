// What patterns cut texts into, against what the reference library gave
// (tests/goldens/split_patterns.py).
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "core/base/common.h"
#include "core/json/json_value.h"
#include "core/tokenizer/steps/pre_tokenizer.h"
#include "gmock/gmock.h"
#include "tests/core/tokenizer/support.h"

namespace banyan {
namespace {

using testing::HasSubstr;

Json Goldens() {
  return Json::parse(ReadText("tests/goldens/tokenizers/splits.json"));
}

absl::StatusOr<Splitter> MakeSplitter(const Json& json) {
  const auto tree = JsonTree::Parse(json.dump(), "f");
  if (!tree.ok()) return tree.status();
  return Splitter::FromJson(tree->root());
}

std::vector<std::string> Pieces(const Splitter& splitter,
                                const std::string& text) {
  std::vector<Piece> pieces;
  const absl::Status status = splitter.Split({text, true}, pieces);
  EXPECT_TRUE(status.ok()) << status;
  std::vector<std::string> texts;
  for (const Piece& piece : pieces) texts.push_back(piece.text);
  return texts;
}

TEST(Splitter, CutsAsTheReference) {
  const Json goldens = Goldens();
  const Json& texts = goldens.at("texts");
  ASSERT_EQ(texts.size(), 11u);
  ASSERT_EQ(goldens.at("splits").size(), 191u);
  for (const Json& row : goldens.at("splits")) {
    const auto splitter = MakeSplitter(row.at("split"));
    ASSERT_TRUE(splitter.ok()) << splitter.status();
    for (std::size_t i = 0; i < texts.size(); ++i)
      EXPECT_EQ(Pieces(*splitter, texts[i].get<std::string>()),
                row.at("pieces")[i].get<std::vector<std::string>>())
          << row.at("split") << " of " << texts[i];
  }
}

TEST(Splitter, RefusesPatternsThatTheReferenceRefuses) {
  const Json refused = Goldens().at("refused");
  ASSERT_EQ(refused.size(), 15u);
  for (const Json& pattern : refused) {
    const Json split = {{"type", "Split"},
                        {"pattern", {{"Regex", pattern}}},
                        {"behavior", "Isolated"}};
    const absl::Status status = MakeSplitter(split).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << pattern;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("f: pattern.Regex: byte "));
  }
}

TEST(Splitter, KnowsWhichPieceTheTextBeginsWith) {
  const auto splitter = MakeSplitter(Json::parse(
      R"({"type": "Split", "pattern": {"String": "x"}, "behavior": "Removed"})"));
  ASSERT_TRUE(splitter.ok()) << splitter.status();
  const auto starts = [&](const std::string& text, bool at_start) {
    std::vector<Piece> pieces;
    EXPECT_TRUE(splitter->Split({text, at_start}, pieces).ok());
    std::vector<bool> flags;
    for (const Piece& piece : pieces) flags.push_back(piece.at_start);
    return flags;
  };
  EXPECT_EQ(starts("axb", true), (std::vector<bool>{true, false}));
  EXPECT_EQ(starts("axb", false), (std::vector<bool>{false, false}));
  EXPECT_EQ(starts("xb", true), (std::vector<bool>{false}));
}

}  // namespace
}  // namespace banyan
