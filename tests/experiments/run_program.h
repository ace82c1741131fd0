// Runs the program `banyan` as a user does, through the shell.
#ifndef BANYAN_TESTS_EXPERIMENTS_RUN_PROGRAM_H_
#define BANYAN_TESTS_EXPERIMENTS_RUN_PROGRAM_H_

#include <string>

#include "nlohmann/json.hpp"

namespace banyan {

struct Outcome {
  int code = -1;  // -1: it did not end by itself
  std::string out;
  std::string err;
  std::string output;  // standard output, then standard error
};

// In a folder, unless it is the test's own. `arguments` may redirect; what it
// redirects is not in the outcome.
Outcome RunProgram(const std::string& arguments,
                   const std::string& folder = ".");

// Its standard output as JSON. Fails the test, and gives null, unless the exit
// code is 0 and standard error is empty.
nlohmann::json RunForJson(const std::string& arguments);

// Writes a file named after the running test, and gives its path.
std::string WriteTestFile(const std::string& text,
                          const std::string& ending = ".yaml");

}  // namespace banyan

#endif  // BANYAN_TESTS_EXPERIMENTS_RUN_PROGRAM_H_
