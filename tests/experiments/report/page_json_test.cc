// The document that the page shows.
#include "experiments/report/page/page_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "experiments/metrics/catalogue.h"
#include "experiments/records/record.pb.h"
#include "experiments/records/record_set.h"
#include "experiments/report/page/token_texts.h"
#include "experiments/report/summary.h"
#include "nlohmann/json.hpp"
#include "tests/experiments/test_files.h"
#include "tests/support/made/made_records.h"

namespace banyan {
namespace {

using Json = nlohmann::ordered_json;

std::ptrdiff_t Count(const std::string& text, const std::string& part) {
  std::ptrdiff_t count = 0;
  for (auto at = text.find(part); at != std::string::npos;
       at = text.find(part, at + part.size()))
    ++count;
  return count;
}

class PageJsonTest : public FolderTest {
 protected:
  // Of made-up records, the target in `directory`.
  static Json Document(int samples, const std::string& directory = "nowhere",
                       const std::string& reference = "") {
    const std::string path = OwnFolder() + "/run.banyan";
    records::Context context = MadeContext({});
    for (records::Cell& cell : *context.mutable_cells())
      cell.mutable_target()->set_directory(directory);
    records::Trunk& trunk =
        *context.mutable_cells(context.cells_size() - 1)->mutable_trunks(0);
    trunk.add_drafted()->set_model("whole");
    records::DraftedTokens& some = *trunk.add_drafted();
    some.set_model("some");
    some.set_file("d/vocabulary.json");
    some.set_tokens(8192);
    WriteMadeRecords(path, {}, context);
    const auto set = ReadRecordSet({path}, false);
    EXPECT_TRUE(set.ok()) << set.status();
    const auto report = Summarise(*set, {.reference = reference});
    EXPECT_TRUE(report.ok()) << report.status();
    TokenTexts texts;
    return Json::parse(
        ToJson(*set, *report, {.samples = samples}, texts).Text());
  }
};

TEST_F(PageJsonTest, SaysWhatWasRun) {
  const Json json = Document(0);
  EXPECT_EQ(json.at("question"), "Is what is made up counted right?");
  EXPECT_EQ(json.at("experiment_hash"), "00112233445566778899");
  EXPECT_EQ(json.at("context").at("machine").at("device"), "cpu");
  EXPECT_EQ(json.at("context").at("machine").at("instruction_set"), "AVX2");
  EXPECT_EQ(json.at("context").at("started"), "2023-11-14T22:13:20+00:00");
  EXPECT_EQ(json.at("context").at("workload").at("prompts"), 6);
  EXPECT_EQ(json.at("warnings"), Json::array());
  EXPECT_EQ(json.at("samples"), Json::array());
  ASSERT_EQ(json.at("metrics").size(), MetricCatalogue().size());
  EXPECT_EQ(json.at("metrics")[0].at("name"), "tokens_per_pass");
  EXPECT_EQ(json.at("metrics")[0].at("unit"), "tokens");
}

TEST_F(PageJsonTest, DescribesEveryCell) {
  const Json json = Document(0);
  ASSERT_EQ(json.at("cells").size(), 5);
  const Json& plain = json.at("cells")[0];
  EXPECT_TRUE(plain.at("baseline").is_null());
  EXPECT_TRUE(plain.at("grown_from").is_null());
  EXPECT_EQ(plain.at("trunks"), Json::array());
  EXPECT_FALSE(plain.contains("differences"));
  const Json& lossy = json.at("cells")[4];
  EXPECT_EQ(lossy.at("name"), "lossy_merged 1");
  EXPECT_EQ(lossy.at("method"), "lossy_merged");
  EXPECT_EQ(lossy.at("axes").at("temperature"), "1");
  EXPECT_EQ(lossy.at("target"), "grown_target");
  EXPECT_EQ(lossy.at("grown_from"), "target");
  EXPECT_EQ(lossy.at("lossless"), false);
  EXPECT_EQ(lossy.at("baseline"), "plain 1");
  EXPECT_EQ(lossy.at("prompts"), 6);
  EXPECT_EQ(lossy.at("trunks")[1].at("drafter"), "ngram");
  EXPECT_EQ(lossy.at("trunks")[1].at("draws"), "deterministic");
  EXPECT_EQ(lossy.at("trunks")[0].at("vocabularies"),
            Json::parse(R"([{"model": "some", "file": "d/vocabulary.json",
                             "tokens": 8192}])"));
  EXPECT_EQ(lossy.at("trunks")[1].at("vocabularies"), Json::array());
  const Json& speed = lossy.at("metrics").at("speed").at("");
  EXPECT_LE(speed.at("low").get<double>(), speed.at("value").get<double>());
  EXPECT_GE(speed.at("high").get<double>(), speed.at("value").get<double>());
  EXPECT_TRUE(lossy.at("metrics").at("tokens").at("").at("low").is_null());
  EXPECT_TRUE(
      lossy.at("metrics").at("acceptance_by_depth").contains("depth 1"));
}

TEST_F(PageJsonTest, GivesDifferencesIfThereIsAReference) {
  const Json json = Document(0, "nowhere", "chain");
  EXPECT_FALSE(json.at("cells")[1].contains("differences"));
  const Json& merged = json.at("cells")[2];
  EXPECT_EQ(merged.at("reference"), "chain");
  EXPECT_TRUE(merged.at("differences").at("speed").contains(""));
}

TEST_F(PageJsonTest, DrawsTheFirstPromptsOfEveryCell) {
  const Json json = Document(2);
  ASSERT_EQ(json.at("samples").size(), 10);
  const Json& sample = json.at("samples")[4];
  EXPECT_EQ(sample.at("cell"), "merged");
  EXPECT_EQ(sample.at("id"), "80");
  EXPECT_EQ(sample.at("prompt"), "<5><6><7>");
  const records::PromptRecord record = MadePrompt({}, 2, 0);
  ASSERT_EQ(sample.at("rounds").size(),
            static_cast<std::size_t>(record.rounds_size()));
  ASSERT_EQ(sample.at("tokens").size(),
            static_cast<std::size_t>(record.tokens_size()));
  for (int i = 0; i < record.rounds_size(); ++i) {
    const records::Round& round = record.rounds(i);
    const Json& drawn = sample.at("rounds")[static_cast<std::size_t>(i)];
    EXPECT_EQ(drawn.at("emitted"), round.emitted());
    EXPECT_EQ(drawn.at("drafted"), round.tokens_size() - 1);
    EXPECT_EQ(drawn.at("accepted"), round.path_size());
    EXPECT_EQ(drawn.at("probes"), 0);
    EXPECT_EQ(drawn.at("ms").at("target").get<double>(),
              static_cast<double>(round.target_ns()) / 1e6);
    // The tree, and the token after the path; the root and the path are marked.
    const std::string tree = drawn.at("tree");
    EXPECT_EQ(Count(tree, "<g class=\"node"), round.tokens_size() + 1);
    EXPECT_EQ(Count(tree, "<g class=\"node marked"), round.path_size() + 2);
    EXPECT_EQ(Count(tree, " proposed by trunk ") > 0, round.tokens_size() > 1);
    EXPECT_EQ(Count(tree, ": target probability p "), round.tokens_size() - 1);
    EXPECT_EQ(Count(tree, ": the token after the accepted path"), 1);
  }
}

TEST_F(PageJsonTest, ShowsProbesAsWhatTheyAre) {
  const MadeOptions options = {.probes = true};
  const std::string path = OwnFolder() + "/probes.banyan";
  WriteMadeRecords(path, options, MadeContext(options));
  const auto set = ReadRecordSet({path}, false);
  ASSERT_TRUE(set.ok()) << set.status();
  const auto report = Summarise(*set, {});
  ASSERT_TRUE(report.ok()) << report.status();
  TokenTexts texts;
  const Json json =
      Json::parse(ToJson(*set, *report, {.samples = 1}, texts).Text());
  const records::PromptRecord record = MadePrompt(options, 2, 0);
  int probes = 0;
  int vectors = 0;
  for (int i = 0; i < record.rounds_size(); ++i) {
    const records::Round& round = record.rounds(i);
    const Json& drawn =
        json.at("samples")[2].at("rounds")[static_cast<std::size_t>(i)];
    EXPECT_EQ(drawn.at("probes"), round.probes_size());
    EXPECT_EQ(drawn.at("drafted"),
              round.tokens_size() - 1 - round.probes_size());
    const std::string tree = drawn.at("tree");
    EXPECT_EQ(Count(tree, "<g class=\"node probe\">"), round.probes_size());
    for (const records::Probe& probe : round.probes()) {
      EXPECT_THAT(tree, testing::HasSubstr(
                            absl::StrCat(": a probe of trunk ", probe.trunk(),
                                         ", scored and not judged")));
      vectors += probe.vector() ? 1 : 0;
    }
    EXPECT_EQ(Count(tree, "a vector in the place of "),
              std::count_if(round.probes().begin(), round.probes().end(),
                            [](const auto& probe) { return probe.vector(); }));
    probes += round.probes_size();
  }
  EXPECT_GT(vectors, 0);
  EXPECT_GT(probes, 3);
}

TEST_F(PageJsonTest, TellsWhereEveryTokenCameFrom) {
  const Json json = Document(6);
  int bonus = 0;
  int corrected = 0;
  for (const Json& sample : json.at("samples")) {
    for (const Json& token : sample.at("tokens")) {
      const std::string how = token.at("how");
      if (sample.at("cell") == "plain") {
        EXPECT_EQ(how, "plain");
      }
      bonus += how == "bonus" ? 1 : 0;
      corrected += how == "corrected" ? 1 : 0;
      const Json& round =
          sample.at("rounds")[token.at("round").get<std::size_t>()];
      // Accepted tokens are nodes of their round; others are what follows.
      if (how != "accepted") {
        EXPECT_EQ(token.at("text"), round.at("next"));
      }
    }
  }
  EXPECT_GT(bonus, 0);
  EXPECT_GT(corrected, 0);
}

TEST_F(PageJsonTest, TakesTextsFromTheTargetsTokenizerIfItIsThere) {
  const Json json = Document(1, "models/pycode-target");
  const records::PromptRecord record = MadePrompt({}, 0, 0);
  for (int i = 0; i < record.tokens_size(); ++i)
    EXPECT_NE(
        json.at("samples")[0].at("tokens")[static_cast<std::size_t>(i)].at(
            "text"),
        absl::StrCat("<", record.tokens(i), ">"));
  TokenTexts texts;
  EXPECT_EQ(texts.Of("models/pycode-target")(999'999), "<999999>");
  EXPECT_EQ(texts.Together("nowhere", std::vector<std::uint32_t>{1, 2}),
            "<1><2>");
}

}  // namespace
}  // namespace banyan
