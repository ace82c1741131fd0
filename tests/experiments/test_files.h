// Files of the running test.
#ifndef BANYAN_TESTS_EXPERIMENTS_TEST_FILES_H_
#define BANYAN_TESTS_EXPERIMENTS_TEST_FILES_H_

#include <gtest/gtest.h>

#include <string>

namespace banyan {

// The path of a folder named after the running test.
std::string OwnFolder();

// Every test begins with that folder there and empty.
class FolderTest : public testing::Test {
 protected:
  FolderTest();
};

// The bytes of a file; fails the test if it cannot be read.
std::string FileText(const std::string& path);
void WriteText(const std::string& path, const std::string& text);

}  // namespace banyan

#endif  // BANYAN_TESTS_EXPERIMENTS_TEST_FILES_H_
