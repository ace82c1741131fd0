// Ids and text against what the reference library gave, for one small file of
// every kind that is read (tests/goldens/tokenizers.py).
#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <string>

#include "core/tokenizer/tokenizer.h"
#include "tests/core/tokenizer/support.h"

namespace banyan {
namespace {

const std::string kFolder = "tests/goldens/tokenizers/";

std::unique_ptr<Tokenizer> MakeProfile(const Json& profile) {
  Json json = profile.at("sections");
  json["model"] = Json::parse(ReadText(
      kFolder + profile.at("model").get<std::string>() + ".model.json"));
  json["model"].update(profile.at("changes"));
  return MakeTokenizer(json);
}

// Each profile is a test of its own name.
class TokenizerGoldens : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const Json goldens = Json::parse(ReadText(kFolder + "profiles.json"));
    texts_ = goldens.at("texts");
    for (const Json& profile : goldens.at("profiles"))
      if (profile.at("name") == GetParam()) profile_ = profile;
    ASSERT_FALSE(profile_.is_null());
    ASSERT_EQ(texts_.size(), 36u);
    ASSERT_EQ(profile_.at("broken").size(), 8u);
    tokenizer_ = MakeProfile(profile_);
    ASSERT_NE(tokenizer_, nullptr);
  }

  Json texts_;
  Json profile_;
  std::unique_ptr<Tokenizer> tokenizer_;
};

TEST_P(TokenizerGoldens, EncodesAsTheReference) {
  ASSERT_EQ(texts_.size(), profile_.at("ids").size());
  for (std::size_t i = 0; i < texts_.size(); ++i) {
    SCOPED_TRACE(texts_[i].dump(-1, ' ', true));
    const std::string text = texts_[i].get<std::string>();
    const Ids expected = profile_.at("ids")[i].get<Ids>();
    const auto ids = tokenizer_->Encode(text);
    ASSERT_TRUE(ids.ok()) << ids.status();
    EXPECT_EQ(*ids, expected);
    const auto plain_ids = tokenizer_->Encode(
        text, {.add_special = false, .parse_special = false});
    ASSERT_TRUE(plain_ids.ok()) << plain_ids.status();
    const Json& plain = profile_.at("plain_ids")[i];
    EXPECT_EQ(*plain_ids,
              plain.is_null()
                  ? Ids(expected.begin() + profile_.at("before").get<int>(),
                        expected.end())
                  : plain.get<Ids>());
  }
}

TEST_P(TokenizerGoldens, DecodesAsTheReference) {
  for (std::size_t i = 0; i < texts_.size(); ++i) {
    SCOPED_TRACE(texts_[i].dump(-1, ' ', true));
    const Ids ids = profile_.at("ids")[i].get<Ids>();
    for (const bool skips : {false, true}) {
      const Json& text = profile_.at(skips ? "skipped" : "decoded")[i];
      const auto decoded = tokenizer_->Decode(ids, skips);
      ASSERT_TRUE(decoded.ok()) << decoded.status();
      EXPECT_EQ(*decoded, (text.is_null() ? texts_[i] : text));
    }
    ExpectStreamGivesTheSame(*tokenizer_, ids);
  }
}

TEST_P(TokenizerGoldens, DecodesIdsNoTextHasAsTheReference) {
  for (const Json& each : profile_.at("broken")) {
    SCOPED_TRACE(each.dump(-1, ' ', true));
    const Ids ids = each.at("ids").get<Ids>();
    const auto decoded = tokenizer_->Decode(ids);
    ASSERT_TRUE(decoded.ok()) << decoded.status();
    EXPECT_EQ(*decoded, each.at("text"));
    ExpectStreamGivesTheSame(*tokenizer_, ids);
  }
}

INSTANTIATE_TEST_SUITE_P(Profiles, TokenizerGoldens,
                         testing::Values("gpt2", "gpt2_prefix", "llama3",
                                         "qwen2", "digits", "flags",
                                         "flags_nfc", "llama2", "llama2_flags",
                                         "metaspace_first", "metaspace_always",
                                         "metaspace_never", "unknown_fused",
                                         "unknown"),
                         [](const auto& test) { return test.param; });

TEST(TokenizerGoldens, AreAllTested) {
  EXPECT_EQ(
      Json::parse(ReadText(kFolder + "profiles.json")).at("profiles").size(),
      14u);
}

}  // namespace
}  // namespace banyan
