// Texts decide whether a cell that claims to be lossless is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "core/base/check.h"
#include "experiments/records/record.pb.h"
#include "experiments/records/record_file.h"
#include "experiments/records/record_set.h"
#include "tests/experiments/test_files.h"
#include "tests/support/made/made_records.h"

namespace banyan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ClaimsTest : public FolderTest {
 protected:
  RecordSet SetOf(const MadeOptions& options, const records::Context& context) {
    const std::string path = OwnFolder() + "/made.banyan";
    WriteMadeRecords(path, options, context);
    auto set = ReadRecordSet({path}, /*mixed=*/false);
    Check(set.ok(), set.status().ToString());
    return *std::move(set);
  }
  RecordSet SetOf(const MadeOptions& options) {
    return SetOf(options, MadeContext(options));
  }
};

TEST_F(ClaimsTest, ACellWhoseTextsDifferLosesTheWord) {
  const RecordSet set = SetOf({.lies = true});
  const CellRecords& merged = *set.Find("merged");
  EXPECT_FALSE(merged.cell->lossless());
  EXPECT_EQ(merged.cell->evidence(), records::REFUTED);
  for (const PromptPair& pair : merged.pairs)
    EXPECT_FALSE(pair.cell->lossless());
  EXPECT_THAT(
      set.refuted,
      ElementsAre("NOT LOSSLESS: merged claims to be, but 1 of its 6 texts at "
                  "temperature 0 differ from plain decoding's"));
  const absl::Status status = CheckClaims(set);
  EXPECT_TRUE(absl::IsAborted(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("merged claims to be"));
}

TEST_F(ClaimsTest, TheSameMethodIsNotBelievedAtOtherTemperatures) {
  const MadeOptions options = {.lies = true};
  records::Context context = MadeContext(options);
  records::Cell& sampled = *context.mutable_cells(4);
  sampled.set_method("merged");
  sampled.set_lossless(true);
  const RecordSet set = SetOf(options, context);
  EXPECT_EQ(set.Find(sampled.name())->cell->evidence(), records::REFUTED);
  EXPECT_EQ(set.refuted.size(), 1u);
}

TEST_F(ClaimsTest, OthersKeepIt) {
  const RecordSet set = SetOf({.lies = true});
  EXPECT_TRUE(set.Find("chain")->cell->lossless());
  EXPECT_TRUE(set.Find("plain")->cell->lossless());
  // Above temperature 0 texts may differ.
  EXPECT_TRUE(set.Find("plain 1")->cell->lossless());
}

TEST_F(ClaimsTest, ALossyCellHasNoClaimToRefute) {
  const RecordSet set = SetOf({});
  EXPECT_THAT(set.refuted, IsEmpty());
  EXPECT_TRUE(CheckClaims(set).ok());
  EXPECT_EQ(CompareTexts(set.Find("merged")->pairs).differing, 1);
  EXPECT_EQ(CompareTexts(set.Find("chain")->pairs).compared, 6);
  EXPECT_EQ(CompareTexts(set.Find("plain")->pairs).compared, 0);
}

// Last bits depend on what shares a pass there, so that ties may fall
// otherwise.
TEST_F(ClaimsTest, ARunOfFastPassesIsNotJudgedByItsTexts) {
  const MadeOptions options = {.lies = true};
  records::Context context = MadeContext(options);
  context.mutable_machine()->set_fast(true);
  const RecordSet set = SetOf(options, context);
  EXPECT_TRUE(set.Find("merged")->cell->lossless());
  EXPECT_THAT(set.refuted, IsEmpty());
}

TEST_F(ClaimsTest, ATextThatEndsEarlyDiffers) {
  records::Cell cell;
  records::PromptRecord plain;
  for (const std::uint32_t token : {1U, 2U, 3U}) plain.add_tokens(token);
  records::PromptRecord record = plain;
  const PromptPair pair = {&cell, &record, &plain};
  EXPECT_FALSE(Differs(pair));
  record.mutable_tokens()->RemoveLast();
  EXPECT_TRUE(Differs(pair));
  EXPECT_EQ(FirstDifference(pair), 2U);
  record.add_prompt_tokens(7);  // a turn after other answers
  EXPECT_FALSE(Differs(pair));
  EXPECT_FALSE(FirstDifference(pair).has_value());
}

}  // namespace
}  // namespace banyan
