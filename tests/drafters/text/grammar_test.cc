#include "drafters/text/grammar/grammar.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/check.h"
#include "core/base/token.h"
#include "core/model/context.h"
#include "core/tokenizer/tokenizer.h"
#include "drafters/text/grammar/pattern.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/drafters/asking.h"
#include "tests/support/drafting.h"
#include "tests/support/made/toy_tokenizer.h"
#include "tests/support/solo.h"
#include "tests/support/tree_text.h"
#include "tree/draft_tree.h"

namespace banyan {
namespace {

using testing::HasSubstr;

// Tokens 0 to 6.
std::shared_ptr<const Tokenizer> Letters() {
  return ToyTokenizer({"a", "b", "c", "ab", "bc", "abc", "<end>"});
}

Solo Drafting(const std::string& pattern, GrammarOptions options = {}) {
  absl::StatusOr<Pattern> parsed = Pattern::Parse(pattern);
  Check(parsed.ok(), parsed.status().message());
  return Solo(std::make_unique<Grammar>(
      7, options, std::make_shared<const Pattern>(*std::move(parsed)),
      Letters()));
}

// What it drafts, as a chain: "4(5(6))".
std::string Draft(Solo& drafter, const Context& context) {
  return ToText(
      MustDraft(drafter, *PolicyOf("chain {nodes: 8}"),
                {.draw_kind = DrawKind::kDeterministic, .context = context}));
}

TEST(Grammar, DraftsWhatIsCertain) {
  Solo drafter = Drafting("c(abc|b)cab");
  Context context = BeginWith(drafter, {0});
  EXPECT_EQ(Draft(drafter, context), "0(2)") << "then a or b";
  EXPECT_EQ(drafter.Promise(context), 1.0);
  Commit(drafter, {2, 0}, context);
  EXPECT_EQ(Draft(drafter, context), "0(4(2(3)))") << "bc, c, ab";
  Commit(drafter, {1}, context);
  EXPECT_EQ(Draft(drafter, context), "1(2(2(3)))");
  Commit(drafter, {2, 2, 3}, context);
  EXPECT_EQ(Draft(drafter, context), "3") << "the pattern ends";
  Commit(drafter, {0}, context);
  EXPECT_EQ(Draft(drafter, context), "0") << "and is broken";
}

TEST(Grammar, IsCutAfterTheLastToken) {
  // After a `b` of its own, `c` stands alone: `bc` would be another text.
  Solo drafter = Drafting("bcab");
  Context context = BeginWith(drafter, {0});
  EXPECT_EQ(Draft(drafter, context), "0(4(3))");
  Commit(drafter, {1}, context);
  EXPECT_EQ(Draft(drafter, context), "1(2(3))");
}

TEST(Grammar, EndsWithTheFirstByteThatBreaksIt) {
  Solo drafter = Drafting("abab(a|b)c*");
  Context context = BeginWith(drafter, {0});
  EXPECT_EQ(Draft(drafter, context), "0(3(3))");
  Commit(drafter, {3, 2}, context);
  EXPECT_EQ(Draft(drafter, context), "2");
  Commit(drafter, {3}, context);
  EXPECT_EQ(Draft(drafter, context), "3") << "until the prompt ends";
  context = BeginWith(drafter, {0});
  EXPECT_EQ(Draft(drafter, context), "0(3(3))");
  Commit(drafter, {3, 6}, context);
  EXPECT_EQ(Draft(drafter, context), "6") << "an end of text is none of it";
}

TEST(Grammar, MaySpeakOfThePromptToo) {
  Solo text = Drafting("(ab)*cabc", {.of = GrammarOptions::Of::kText});
  const Context context = BeginWith(text, {6, 3, 3, 2});
  EXPECT_EQ(Draft(text, context), "2(5)")
      << "what begins a text is passed over";
  Solo output = Drafting("(ab)*cabc");
  EXPECT_EQ(Draft(output, BeginWith(output, {6, 3, 3, 2})), "2");
}

TEST(Grammar, MaySpeakOfEachLine) {
  // Token 2 ends a line; the prompt's last one is taken up where it stands.
  const auto tokens = ToyTokenizer({"a", "b", "\n", "ab", "ba"});
  absl::StatusOr<Pattern> lines = Pattern::Parse("a(ba)+b|bbb");
  Check(lines.ok(), lines.status().message());
  Solo drafter(std::make_unique<Grammar>(
      5, GrammarOptions{.of = GrammarOptions::Of::kLine},
      std::make_shared<const Pattern>(*std::move(lines)), tokens));
  Context context = BeginWith(drafter, {1, 0, 2, 0});
  EXPECT_EQ(Draft(drafter, context), "0(1(3))") << "b ends it or goes on";
  Commit(drafter, {0}, context);
  EXPECT_EQ(Draft(drafter, context), "0") << "no such line";
  Commit(drafter, {4, 1}, context);
  EXPECT_EQ(Draft(drafter, context), "1") << "until it ends";
  Commit(drafter, {2, 1}, context);
  EXPECT_EQ(Draft(drafter, context), "1(1(1))");
  Commit(drafter, {1, 1}, context);
  EXPECT_EQ(Draft(drafter, context), "1") << "the line is over";
}

TEST(Grammar, DraftsNoMoreTokensThanItMay) {
  Solo drafter = Drafting("(abc){20}", {.tokens = 3});
  EXPECT_EQ(Draft(drafter, BeginWith(drafter, {0})), "0(5(5(5)))");
  // Bytes that no token has.
  Solo unknown = Drafting("xyz");
  EXPECT_EQ(Draft(unknown, BeginWith(unknown, {0})), "0");
}

TEST(Grammar, RefusesWhatItCannotRead) {
  EXPECT_THAT(Refusal("grammar {}"),
              HasSubstr("needs one of 'pattern' and 'file'"));
  EXPECT_THAT(Refusal("grammar {pattern: a, file: b}"),
              HasSubstr("needs one of 'pattern' and 'file'"));
  EXPECT_THAT(Refusal("grammar {pattern: a}"),
              HasSubstr("the target has no tokenizer"));
  EXPECT_THAT(Refusal("grammar {pattern: a, of: prompt}"),
              HasSubstr("'of' must be output, text or line"));
  EXPECT_THAT(Refusal("grammar {pattern: a, tokens: 0}"),
              HasSubstr("'tokens' must lie between 1 and 1024"));
}

}  // namespace
}  // namespace banyan
