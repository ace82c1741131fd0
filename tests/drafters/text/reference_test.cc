#include "drafters/text/reference/reference.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/token.h"
#include "core/model/context.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/drafters/asking.h"
#include "tests/support/drafting.h"
#include "tests/support/solo.h"
#include "tests/support/tree_text.h"
#include "tree/draft_tree.h"

namespace banyan {
namespace {

using testing::HasSubstr;

Solo Quoting(std::vector<TokenId> text, const ReferenceOptions& options) {
  return Solo(std::make_unique<Reference>(
      8, options,
      std::make_shared<const ReferenceText>(std::move(text), options.match)));
}

// What it drafts, as a chain: "4(5(6))".
std::string Draft(Solo& drafter, const Context& context) {
  return ToText(
      MustDraft(drafter, *PolicyOf("chain {nodes: 8}"),
                {.draw_kind = DrawKind::kDeterministic, .context = context}));
}

TEST(Reference, QuotesWhatFollowsTheLastTokens) {
  Solo drafter = Quoting({1, 2, 3, 4, 5, 6, 7}, {.match = 2, .span = 3});
  Context context = BeginWith(drafter, {0, 2, 3});
  EXPECT_EQ(Draft(drafter, context), "3(4(5(6)))");
  EXPECT_EQ(drafter.Promise(context), 2.0);
  // It goes along, though the gram of its last tokens is none of the text's.
  Commit(drafter, {4}, context);
  EXPECT_EQ(Draft(drafter, context), "4(5(6(7)))");
  EXPECT_EQ(drafter.Promise(context), 3.0) << "three tokens went along";
  Commit(drafter, {5, 6, 7}, context);
  EXPECT_EQ(Draft(drafter, context), "7") << "the text has ended";
  EXPECT_EQ(drafter.Promise(context), 0.0);
  Commit(drafter, {4, 5}, context);
  EXPECT_EQ(Draft(drafter, context), "5(6(7))");
  Commit(drafter, {0}, context);
  EXPECT_EQ(Draft(drafter, context), "0");
}

TEST(Reference, GoesOnAfterWhatItCopiedLast) {
  // 1 2 stands three times, before 3, 4 and 5.
  Solo drafter =
      Quoting({1, 2, 3, 0, 1, 2, 4, 0, 1, 2, 5, 0}, {.match = 2, .span = 1});
  Context context = BeginWith(drafter, {7, 1, 2});
  EXPECT_EQ(Draft(drafter, context), "2(3)");
  Commit(drafter, {3, 6, 1, 2}, context);
  EXPECT_EQ(Draft(drafter, context), "2(4)");
  Commit(drafter, {6, 1, 2}, context);
  EXPECT_EQ(Draft(drafter, context), "2(4)") << "it was not copied";
  Commit(drafter, {4, 0, 6, 1, 2}, context);
  EXPECT_EQ(Draft(drafter, context), "2(5)");
  Commit(drafter, {5, 6, 1, 2}, context);
  EXPECT_EQ(Draft(drafter, context), "2(3)") << "from the first again";
}

TEST(Reference, OfThePromptIsItself) {
  const auto drafter = MustAsk("reference {span: 4}");
  Context context = BeginWith(*drafter, {1, 2, 3, 4, 1, 2});
  EXPECT_EQ(Draft(*drafter, context), "2(3(4(1(2))))");
  Commit(*drafter, {5, 6, 5, 6}, context);
  EXPECT_EQ(Draft(*drafter, context), "6") << "what it said is no reference";
  context = BeginWith(*drafter, {7, 6, 5, 7, 6});
  EXPECT_EQ(Draft(*drafter, context), "6(5(7(6(5))))")
      << "another prompt, gone round";
}

TEST(Reference, IsRewrittenFromItsBeginning) {
  Solo drafter = Quoting({1, 2, 3, 1, 2, 4, 5, 6},
                         {.match = 2, .span = 4, .rewrite = true});
  Context context = BeginWith(drafter, {7, 3, 1});
  EXPECT_EQ(Draft(drafter, context), "1(1(2(3(1))))");
  Commit(drafter, {1, 2}, context);
  EXPECT_EQ(Draft(drafter, context), "2(3(1(2(4))))");
  Commit(drafter, {0, 1, 2}, context);
  EXPECT_EQ(Draft(drafter, context), "2") << "1 2 stands twice";
  Commit(drafter, {4}, context);
  EXPECT_EQ(Draft(drafter, context), "4(5(6))") << "2 4 once";
}

TEST(Reference, ReadsATextFile) {
  // Without a tokenizer nothing can be read.
  EXPECT_THAT(Refusal("reference {file: text.txt}"),
              HasSubstr("the target has no tokenizer to read a text with"));
  EXPECT_THAT(Refusal("reference {mode: copy}"),
              HasSubstr("'mode' must be quote or rewrite"));
  EXPECT_THAT(Refusal("reference {match: 0}"),
              HasSubstr("'match' must lie between 1 and 64"));
  EXPECT_THAT(Refusal("reference {span: 5000}"),
              HasSubstr("'span' must lie between 1 and 1024"));
  EXPECT_THAT(Refusal("reference {spam: 5}"),
              HasSubstr("unknown key 'spam'; did you mean 'span'"));
}

}  // namespace
}  // namespace banyan
