// What the environment says of how a process was started.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "core/device/ranks/communicator.h"

namespace banyan {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Launched : public testing::Test {
 protected:
  Launched() { Clear(); }
  ~Launched() override { Clear(); }
  static void Set(const std::string& name, const std::string& value) {
    setenv(name.c_str(), value.c_str(), 1);
  }

 private:
  static void Clear() {
    for (const char* name : {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                             "PMI_RANK", "PMI_SIZE"})
      unsetenv(name);
  }
};

TEST_F(Launched, AloneWithoutALauncher) {
  EXPECT_TRUE(CheckLaunch().ok());
  EXPECT_EQ(HowLaunched().ranks, 1);
  Set("PMI_RANK", "1");  // without a number of ranks
  EXPECT_TRUE(CheckLaunch().ok());
  EXPECT_EQ(HowLaunched().rank, 0);
}

TEST_F(Launched, AsTheLauncherSays) {
  Set("PMI_RANK", "2");
  Set("PMI_SIZE", "3");
  EXPECT_TRUE(CheckLaunch().ok());
  EXPECT_EQ(HowLaunched().rank, 2);
  EXPECT_EQ(HowLaunched().ranks, 3);
  // Open MPI's own come first.
  Set("OMPI_COMM_WORLD_RANK", "0");
  Set("OMPI_COMM_WORLD_SIZE", "2");
  EXPECT_EQ(HowLaunched().ranks, 2);
}

TEST_F(Launched, ContradictionsAreRefusedByName) {
  for (const auto& [rank, ranks] :
       {std::pair("1", "1"), std::pair("2", "2"), std::pair("-1", "2"),
        std::pair("0", "0"), std::pair("0", "-3"), std::pair("x", "2"),
        std::pair("0", "")}) {
    Set("PMI_RANK", rank);
    Set("PMI_SIZE", ranks);
    const absl::Status status = CheckLaunch();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << rank << " of " << ranks;
    EXPECT_THAT(std::string(status.message()),
                AllOf(HasSubstr(std::string("PMI_RANK=") + rank),
                      HasSubstr(std::string("PMI_SIZE=") + ranks)));
    // So that the refusal is printed.
    EXPECT_EQ(HowLaunched().rank, 0);
  }
}

}  // namespace
}  // namespace banyan
