// banyan export, as a user meets it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <sstream>
#include <string>
#include <vector>

#include "experiments/records/record.pb.h"
#include "nlohmann/json.hpp"
#include "tests/experiments/run_program.h"
#include "tests/experiments/test_files.h"
#include "tests/support/made/made_records.h"

namespace banyan {
namespace {

using testing::HasSubstr;

class ExportTest : public FolderTest {
 protected:
  ExportTest() { WriteMadeRecords(OwnFolder() + "/run.banyan", {}); }

  static std::vector<nlohmann::json> Rows(const std::string& options) {
    const Outcome outcome =
        RunProgram("export " + OwnFolder() + "/run.banyan " + options);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    std::vector<nlohmann::json> rows;
    std::istringstream lines(outcome.out);
    for (std::string line; std::getline(lines, line);)
      rows.push_back(nlohmann::json::parse(line));
    return rows;
  }
};

TEST_F(ExportTest, WritesEveryPromptRecordOnALine) {
  const std::vector<nlohmann::json> rows = Rows("--format jsonl");
  ASSERT_EQ(rows.size(), 30);  // 5 cells, 6 prompts
  const nlohmann::json& row = rows[13];
  EXPECT_EQ(row.at("cell"), "merged");
  EXPECT_EQ(row.at("baseline"), "plain");
  EXPECT_EQ(row.at("experiment_hash"), "00112233445566778899");
  EXPECT_EQ(row.at("setting").at("axes")[0].at("value"), "0");
  EXPECT_TRUE(rows[0].at("baseline").is_null());
  const records::PromptRecord made = MadePrompt({}, 2, 1);
  const nlohmann::json& record = row.at("record");
  EXPECT_EQ(record.at("prompt"), 1);
  EXPECT_EQ(record.at("tokens").size(), made.tokens_size());
  // 64-bit integers are texts in protobuf's JSON.
  EXPECT_EQ(record.at("rounds")[0].at("target_ns"),
            std::to_string(made.rounds(0).target_ns()));
  // What is empty or zero is there too.
  EXPECT_TRUE(record.at("rounds")[0].contains("path"));
  EXPECT_EQ(rows[0].at("record").at("prompt"), 0);
}

TEST_F(ExportTest, WritesTheContextOfEveryFile) {
  const std::vector<nlohmann::json> rows = Rows("--format context");
  ASSERT_EQ(rows.size(), 1);
  EXPECT_EQ(rows[0].at("context").at("experiment"), "made: up\n");
  EXPECT_EQ(rows[0].at("context").at("machine").at("instruction_set"), "AVX2");
  EXPECT_EQ(rows[0].at("context").at("cells").size(), 5);
}

// The record's rounds tell, by hand, how often each number of tokens was
// accepted.
TEST_F(ExportTest, WritesAcceptanceRatesAsVllmTakesThem) {
  const Outcome outcome =
      RunProgram("export " + OwnFolder() + "/run.banyan --format acceptance");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const nlohmann::json rates = nlohmann::json::parse(outcome.out);
  // Plain decoding drafts nothing.
  EXPECT_EQ(rates.size(), 3);
  int rounds = 0;
  std::vector<int> accepted;
  for (int prompt = 0; prompt < 6; ++prompt) {
    const records::PromptRecord made = MadePrompt({}, 1, prompt);
    for (const records::Round& round : made.rounds()) {
      std::vector<std::size_t> depths = {0};
      for (int node = 1; node < round.parents_size(); ++node)
        depths.push_back(depths[static_cast<std::size_t>(round.parents(node))] +
                         1);
      if (depths.size() > 1) ++rounds;  // with draft tokens
      accepted.resize(std::max(
          accepted.size(), *std::max_element(depths.begin(), depths.end())));
      for (int depth = 0; depth < round.path_size(); ++depth)
        ++accepted[static_cast<std::size_t>(depth)];
    }
  }
  const nlohmann::json& chain = rates.at("chain");
  EXPECT_EQ(chain.at("num_speculative_tokens"), accepted.size());
  EXPECT_EQ(chain.at("rejection_sample_method"), "synthetic");
  EXPECT_EQ(chain.size(), 3);
  for (std::size_t i = 0; i < accepted.size(); ++i)
    EXPECT_DOUBLE_EQ(chain.at("synthetic_acceptance_rates").at(i),
                     static_cast<double>(accepted[i]) / rounds);
}

TEST_F(ExportTest, WritesTheAnswerRowsOfSpecBench) {
  const std::vector<nlohmann::json> rows = Rows("--format spec-bench");
  ASSERT_EQ(rows.size(), 30);
  const nlohmann::json& row = rows[13];
  const records::PromptRecord made = MadePrompt({}, 2, 1);
  EXPECT_EQ(row.at("question_id"), 81);
  EXPECT_EQ(row.at("category"), "continue");
  EXPECT_EQ(row.at("model_id"), "merged");
  EXPECT_EQ(row.at("tstamp"), 1'700'000'000);
  ASSERT_EQ(row.at("choices").size(), 1);
  const nlohmann::json& choice = row.at("choices")[0];
  EXPECT_EQ(choice.at("index"), 0);
  EXPECT_EQ(choice.at("turns").size(), 1);
  EXPECT_THAT(choice.at("turns")[0].get<std::string>(), HasSubstr("<48>"));
  EXPECT_EQ(choice.at("decoding_steps"),
            nlohmann::json::array({made.rounds_size()}));
  EXPECT_EQ(choice.at("new_tokens"),
            nlohmann::json::array({made.tokens_size()}));
  double ns = static_cast<double>(made.prefill_ns());
  int emitted = 0;
  for (const records::Round& round : made.rounds()) {
    for (const auto draft : round.draft_ns()) ns += static_cast<double>(draft);
    ns += static_cast<double>(round.derive_ns() + round.target_ns() +
                              round.verify_ns() + round.commit_ns());
    emitted += static_cast<int>(round.emitted());
  }
  EXPECT_NEAR(choice.at("wall_time")[0].get<double>(), ns / 1e9, 1e-12);
  int accepted = 0;
  for (const nlohmann::json& length : choice.at("accept_lengths"))
    accepted += length.get<int>();
  EXPECT_EQ(accepted, emitted);
  EXPECT_EQ(emitted, made.tokens_size());
}

TEST_F(ExportTest, WritesOneCellIfTold) {
  const std::vector<nlohmann::json> rows =
      Rows("--format spec-bench --cell merged");
  ASSERT_EQ(rows.size(), 6);
  for (const nlohmann::json& row : rows)
    EXPECT_EQ(row.at("model_id"), "merged");
  const Outcome wrong = RunProgram("export " + OwnFolder() + " --cell mergd");
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("did you mean 'merged'?"));
}

TEST_F(ExportTest, WritesToAFileAndRefusesOtherForms) {
  const std::string out = OwnFolder() + "/rows.jsonl";
  EXPECT_EQ(Rows("--out " + out).size(), 0);
  EXPECT_THAT(FileText(out), HasSubstr("\"cell\":\"chain\""));
  EXPECT_EQ(RunProgram("export " + OwnFolder() + " --format xml").code, 2);
  EXPECT_EQ(RunProgram("export no/such/file").code, 2);
}

}  // namespace
}  // namespace banyan
