// Runs the suites of verifiers and drafters on a program's own parts
// (banyan_program). Fails if there is none to prove.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "absl/strings/str_replace.h"
#include "core/base/common.h"
#include "experiments/commands/program.h"

namespace {

// Tests are named after verifiers and drafters, without underscores.
std::string Named(absl::string_view part) {
  return absl::StrCat("*", absl::StrReplaceAll(part, {{"_", ""}}), "*:");
}

std::string FilterOf(const banyan::Parts& parts) {
  std::string filter;
  for (const auto& row : parts.verifiers) filter += Named(row.name);
  for (const auto& row : parts.drafters) filter += Named(row.name);
  // A policy is proven beside all others, by every verifier.
  if (!parts.policies.empty()) filter += "*Policy*3Letters1*:";
  return filter;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string filter = FilterOf(banyan::AddOwnParts());
  if (filter.empty()) {
    std::puts("OwnParts() has no verifier, drafter or policy to prove");
    return 1;
  }
  // GTEST_FILTER and --gtest_filter choose among the same tests.
  if (std::getenv("GTEST_FILTER") == nullptr)
    testing::GTEST_FLAG(filter) = filter;
  testing::InitGoogleTest(&argc, argv);
  const int status = RUN_ALL_TESTS();
  const auto* run = testing::UnitTest::GetInstance();
  if (run->successful_test_count() == 0) {
    std::printf("no proof ran; the filter is %s\n", filter.c_str());
    return 1;
  }
  return status;
}
