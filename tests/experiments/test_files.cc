#include "tests/experiments/test_files.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <ios>
#include <sstream>

namespace banyan {

std::string OwnFolder() {
  const testing::TestInfo* test =
      testing::UnitTest::GetInstance()->current_test_info();
  std::string name =
      std::string(test->test_suite_name()) + "_" + test->name() + ".d";
  std::replace(name.begin(), name.end(), '/', '_');
  return testing::TempDir() + "/" + name;
}

FolderTest::FolderTest() {
  std::filesystem::remove_all(OwnFolder());
  std::filesystem::create_directories(OwnFolder());
}

std::string FileText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

void WriteText(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  EXPECT_TRUE(file.good()) << path;
}

}  // namespace banyan
