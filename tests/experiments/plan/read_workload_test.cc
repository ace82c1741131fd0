// Files of prompts: what they hold, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/base/common.h"
#include "experiments/plan/workload.h"
#include "tests/experiments/run_program.h"

namespace banyan {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Workload, ReadsEveryForm) {
  const auto read = [](const std::string& text, const std::string& ending) {
    const std::string path = WriteTestFile(text, ending);
    const auto workload = ReadWorkload(path);
    EXPECT_TRUE(workload.ok()) << workload.status();
    return *workload;
  };
  const Workload ours = read(
      "{\"id\": \"a\", \"kind\": \"edit\", \"prompt\": \"x = 1\"}\n\n"
      "{\"question_id\": 81, \"category\": \"math\", \"turns\": [\"Why?\", "
      "\"And?\"]}\r\n"
      "{\"ids\": [3, 5]}\n"
      "{\"id\": \"b\", \"kind\": \"turns\", \"turns\": [\"x\", \"\\n\\ny\"]}\n",
      ".jsonl");
  ASSERT_EQ(ours.prompts.size(), 4U);
  EXPECT_EQ(ours.prompts[0].text, "x = 1");
  EXPECT_EQ(ours.prompts[1].id, "81");
  EXPECT_EQ(ours.prompts[1].kind, "math");
  EXPECT_EQ(ours.prompts[1].text, "Why?");
  EXPECT_THAT(ours.prompts[1].later, ElementsAre("And?"));
  EXPECT_EQ(ours.prompts[2].id, "line-4");
  EXPECT_THAT(ours.prompts[2].ids, ElementsAre(3, 5));
  EXPECT_EQ(ours.prompts[3].id, "b");
  EXPECT_EQ(ours.prompts[3].kind, "turns");
  EXPECT_EQ(ours.prompts[3].text, "x");
  EXPECT_THAT(ours.prompts[3].later, ElementsAre("\n\ny"));
  const Workload plain = read("one\n\ntwo", ".txt");
  ASSERT_EQ(plain.prompts.size(), 2U);
  EXPECT_EQ(plain.prompts[1].text, "two");
  EXPECT_NE(plain.hash, ours.hash);
}

TEST(Workload, NamesTheBrokenLine) {
  const auto refusal = [](const std::string& text) {
    return std::string(
        ReadWorkload(WriteTestFile(text, ".jsonl")).status().message());
  };
  const std::string good = "{\"id\": \"a\", \"prompt\": \"x\"}\n";
  EXPECT_THAT(refusal(absl::StrCat(good, "{\"id\": ")),
              HasSubstr(".jsonl:2:8: not valid JSON: "));
  EXPECT_THAT(refusal(absl::StrCat(good, good)),
              HasSubstr(":2: the id 'a' came before"));
  EXPECT_THAT(refusal("{\"prompt\": \"x\", \"prompt\": \"y\"}\n"),
              HasSubstr(".jsonl:1:17: key 'prompt' is given twice"));
  EXPECT_THAT(refusal("[]\n"), HasSubstr("expected a JSON object"));
  EXPECT_THAT(refusal("{\"id\": 1.5, \"prompt\": \"x\"}\n"),
              HasSubstr(".jsonl:1: id: expected a text or a whole number, "
                        "found 1.5"));
  EXPECT_THAT(refusal("{\"ids\": 5}\n"), HasSubstr("a list, found 5"));
  EXPECT_THAT(refusal("{\"id\": \"a\"}\n"), HasSubstr("found none"));
  EXPECT_THAT(refusal("{\"ids\": []}\n"), HasSubstr("found none"));
  EXPECT_THAT(refusal("{\"turns\": []}\n"), HasSubstr("found none"));
  EXPECT_THAT(refusal("{\"ids\": [1, -1]}\n"), HasSubstr("found -1"));
  EXPECT_THAT(refusal("\n"), HasSubstr("no prompt"));
  EXPECT_THAT(refusal("{\"prompt\": 5}\n"), HasSubstr("a text, found 5"));
  EXPECT_THAT(refusal("{\"prompt\": \"x\", \"ids\": [1]}\n"),
              HasSubstr("found several"));
  EXPECT_THAT(refusal("{\"turns\": \"x\"}\n"), HasSubstr("a list of texts"));
  EXPECT_THAT(refusal(absl::StrCat("[]\n", good, "{}\n")),
              AllOf(HasSubstr(".jsonl:1: "), HasSubstr(".jsonl:3: ")));
  EXPECT_EQ(ReadWorkload("no/such.jsonl").status().code(),
            absl::StatusCode::kNotFound);
}

TEST(Workload, SpreadsThePromptsWantedOverTheKindsWanted) {
  Workload workload;
  for (char kind : std::string("aaaaaabbbbbb"))
    workload.prompts.push_back({"", std::string(1, kind), "text", {}});
  EXPECT_THAT(*ChoosePrompts({"", {}, 4}, workload), ElementsAre(0, 3, 6, 9));
  EXPECT_THAT(*ChoosePrompts({"", {"b"}, 2}, workload), ElementsAre(6, 9));
  EXPECT_THAT(*ChoosePrompts({"", {}, 4, 1}, workload),
              ElementsAre(1, 4, 7, 10));
  EXPECT_THAT(*ChoosePrompts({"", {}, 4, 5}, workload),
              ElementsAre(2, 5, 8, 11));
  EXPECT_EQ(ChoosePrompts({"", {}, 0}, workload)->size(), 12U);
  EXPECT_FALSE(ChoosePrompts({"", {"b"}, 7}, workload).ok());
  for (const auto& kinds :
       {std::vector<std::string>{"c"}, std::vector<std::string>{"a", "c"}})
    EXPECT_THAT(
        std::string(ChoosePrompts({"", kinds, 0}, workload).status().message()),
        HasSubstr("unknown kind of prompt 'c'"));
}

TEST(Workload, GivesKindsTheNameOfTheirGroup) {
  Workload workload;
  for (char kind : std::string("abcb"))
    workload.prompts.push_back({"", std::string(1, kind), "text", {}});
  WorkloadSpec spec;
  spec.groups = {{"both", {"a", "b"}}};
  ASSERT_TRUE(GroupKinds(spec, workload).ok());
  std::vector<std::string> kinds;
  for (const WorkloadPrompt& prompt : workload.prompts)
    kinds.push_back(prompt.kind);
  EXPECT_THAT(kinds, ElementsAre("both", "both", "c", "both"));
  spec.groups = {{"one", {"c"}}, {"two", {"c"}}};
  EXPECT_THAT(std::string(GroupKinds(spec, workload).message()),
              HasSubstr("the kind 'c' is in a group already, 'one'"));
  spec.groups = {{"one", {"d"}}};
  EXPECT_THAT(std::string(GroupKinds(spec, workload).message()),
              HasSubstr("unknown kind of prompt 'd'"));
}

}  // namespace
}  // namespace banyan
