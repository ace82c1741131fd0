#include "tests/support/tally.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"

namespace banyan {
namespace {

std::string PathOf(const std::string& program) {
  return absl::StrCat("tests/goldens/counts/", program, ".txt");
}

std::string NameOf(const testing::TestInfo& test) {
  return absl::StrCat(test.test_suite_name(), ".", test.name());
}

// The lines of the program's file by the tests they are of.
std::map<std::string, std::string> ReadLines(const std::string& program) {
  std::map<std::string, std::string> lines;
  std::ifstream file(PathOf(program));
  for (std::string line; std::getline(file, line);) {
    const std::string test = line.substr(line.rfind(' ') + 1);
    EXPECT_TRUE(lines.emplace(test, line).second)
        << PathOf(program) << " has two lines of " << test;
  }
  EXPECT_FALSE(lines.empty()) << PathOf(program) << " is empty or not there";
  return lines;
}

// Every test of the program, whether it is run or not.
std::set<std::string> AllTests() {
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  std::set<std::string> tests;
  for (int i = 0; i < all.total_test_suite_count(); ++i) {
    const testing::TestSuite& suite = *all.GetTestSuite(i);
    for (int j = 0; j < suite.total_test_count(); ++j)
      tests.insert(NameOf(*suite.GetTestInfo(j)));
  }
  return tests;
}

// "All/Suite.Test" of "All/Suite.Test/parameter".
std::string WithoutParameter(const std::string& test) {
  const auto dot = test.find('.');
  return test.substr(0, test.find('/', dot));
}

// Whether a line is of the same test with another parameter.
bool HasSibling(const std::map<std::string, std::string>& lines,
                const std::string& test) {
  return std::any_of(lines.begin(), lines.end(), [&](const auto& line) {
    return WithoutParameter(line.first) == WithoutParameter(test);
  });
}

}  // namespace

void Tally::Count(CaseResult result, std::int64_t cases) {
  switch (result) {
    case CaseResult::kProven:
      proven_ += cases;
      return;
    case CaseResult::kUnlawful:
      unlawful_ += cases;
      return;
    case CaseResult::kLeftOut:
      left_out_ += cases;
      return;
  }
}

std::string Tally::ToText() const {
  return absl::StrCat(proven_, " proven, ", unlawful_, " unlawful, ", left_out_,
                      " left out");
}

void ExpectCounts(const Tally& tally, const std::string& program) {
  const std::string test =
      NameOf(*testing::UnitTest::GetInstance()->current_test_info());
  const std::string line = absl::StrCat(tally.ToText(), ": ", test);
  std::cout << "counted: " << line << std::endl;
  const std::map<std::string, std::string> lines = ReadLines(program);
  const auto held = lines.find(test);
  if (held == lines.end() && HasSibling(lines, test)) {
    std::cout << "not filed yet: " << PathOf(program) << " has no line of it\n";
    return;
  }
  EXPECT_EQ(line, held == lines.end() ? "no line" : held->second)
      << "if that is meant, put the line into " << PathOf(program)
      << "; tests/goldens/counts.sh does it for all";
}

void ExpectATestForEveryCount(const std::string& program) {
  const std::map<std::string, std::string> lines = ReadLines(program);
  const std::set<std::string> tests = AllTests();
  std::set<std::string> counting;
  for (const auto& [test, line] : lines) {
    EXPECT_TRUE(tests.contains(test))
        << PathOf(program) << " has a line of no test: " << line;
    counting.insert(WithoutParameter(test));
  }
  for (const std::string& test : tests)
    EXPECT_TRUE(lines.contains(test) ||
                !counting.contains(WithoutParameter(test)))
        << PathOf(program) << " has no line of " << test;
}

}  // namespace banyan
