#include "tests/experiments/run_program.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "core/terminal/columns.h"

namespace banyan {
namespace {

// Of this test alone: tests run side by side.
std::string TestPath(const std::string& ending) {
  const testing::TestInfo* test =
      testing::UnitTest::GetInstance()->current_test_info();
  std::string name =
      std::string(test->test_suite_name()) + "_" + test->name() + ending;
  std::replace(name.begin(), name.end(), '/', '_');  // of instances
  return testing::TempDir() + "/" + name;
}

}  // namespace

Outcome RunProgram(const std::string& arguments, const std::string& folder) {
  Outcome outcome;
  const std::string errors = TestPath(".stderr");
  const std::string command = "cd " + ShellWord(folder) + " && " +
                              ShellWord(BANYAN_PROGRAM) + " 2>" +
                              ShellWord(errors) + " " + arguments;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return outcome;
  std::array<char, 4096> buffer;
  while (const std::size_t read =
             std::fread(buffer.data(), 1, buffer.size(), pipe))
    outcome.out.append(buffer.data(), read);
  const int status = pclose(pipe);
  outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  std::stringstream said;
  said << std::ifstream(errors).rdbuf();
  outcome.err = said.str();
  outcome.output = outcome.out + outcome.err;
  return outcome;
}

nlohmann::json RunForJson(const std::string& arguments) {
  const Outcome outcome = RunProgram(arguments);
  EXPECT_EQ(outcome.code, 0) << arguments << "\n" << outcome.output;
  EXPECT_EQ(outcome.err, "") << arguments;
  auto json = nlohmann::json::parse(outcome.out, nullptr, false);
  EXPECT_FALSE(json.is_discarded()) << arguments << "\n" << outcome.out;
  return json.is_discarded() || outcome.code != 0 ? nlohmann::json() : json;
}

std::string WriteTestFile(const std::string& text, const std::string& ending) {
  const std::string path = TestPath(ending);
  std::ofstream(path) << text;
  return path;
}

}  // namespace banyan
