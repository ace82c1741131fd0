#include "tests/support/tally.h"

#include <gtest/gtest.h>

#include <iostream>

#include "absl/strings/str_cat.h"

namespace banyan {

void Tally::Count(CaseResult result, std::int64_t cases) {
  switch (result) {
    case CaseResult::kProven:
      proven_ += cases;
      return;
    case CaseResult::kUnlawful:
      unlawful_ += cases;
      return;
    case CaseResult::kTooLarge:
      LeaveOut("more leaves than its size allows", cases);
      return;
  }
}

void Tally::LeaveOut(const std::string& reason, std::int64_t cases) {
  EXPECT_FALSE(reason.empty()) << "a case is left out without a reason";
  left_out_[reason] += cases;
}

std::int64_t Tally::all() const {
  std::int64_t all = proven_ + unlawful_;
  for (const auto& [reason, cases] : left_out_) all += cases;
  return all;
}

std::string Tally::ToText() const {
  std::string reasons;
  for (const auto& [reason, cases] : left_out_)
    absl::StrAppend(&reasons, reasons.empty() ? " (" : "; ", reason, ": ",
                    cases);
  if (!reasons.empty()) reasons += ")";
  return absl::StrCat(proven_, " proven, ", unlawful_, " unlawful, ",
                      all() - proven_ - unlawful_, " left out", reasons);
}

void ExpectCounts(const Tally& tally, std::int64_t least) {
  std::cout << "counted: " << tally.ToText() << std::endl;
  EXPECT_GE(tally.proven(), least)
      << "cases were lost: " << tally.ToText() << ", of at least " << least;
  EXPECT_GT(tally.all(), 0) << "no case at all";
}

}  // namespace banyan
