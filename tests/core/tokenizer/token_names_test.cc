#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/tokenizer/tokenizer.h"
#include "core/tokenizer/vocabulary.h"
#include "tests/core/tokenizer/support.h"
#include "tests/support/made/toy_tokenizer.h"

namespace banyan {
namespace {

std::string NameOf(const std::vector<std::string>& tokens) {
  return NameOfTokens(*ToyTokenizer(tokens));
}

TEST(NameOfTokens, TellsTokensAndTheirNumbersApart) {
  const std::string name = NameOf({"a", "b", "ab"});
  EXPECT_EQ(name.size(), 16U);
  EXPECT_EQ(NameOf({"a", "b", "ab"}), name);
  EXPECT_NE(NameOf({"b", "a", "ab"}), name);
  EXPECT_NE(NameOf({"a", "b"}), name);
  EXPECT_NE(NameOf({"a", "b", "ab", "<x>"}), name);
}

TEST(NameOfTokens, DoesNotHangOnTheFilesLayout) {
  const Json json = SmallTokenizer();
  const auto tokenizer = Tokenizer::FromJson(json.dump(), "a.json");
  const auto other = Tokenizer::FromJson(json.dump(4), "b.json");
  ASSERT_TRUE(tokenizer.ok() && other.ok());
  EXPECT_EQ(NameOfTokens(**tokenizer), NameOfTokens(**other));
}

TEST(NameOfTokens, IsThatOfModelsThatShareTheirs) {
  // Tests run in the project's root.
  const auto name = [](const std::string& folder) {
    return NameOfTokens(*Tokenizer::Load(folder).value());
  };
  EXPECT_EQ(name("models/pycode-target"), name("models/pycode-draft-1"));
  EXPECT_NE(name("models/pycode-target"), NameOf({"a", "b"}));
}

}  // namespace
}  // namespace banyan
