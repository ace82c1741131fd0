#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <string>

#include "core/base/common.h"
#include "core/base/input_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/checkpoint/files.h"

namespace banyan {
namespace {

using testing::HasSubstr;

constexpr std::size_t kMost = 100'000;

class ReadFileTest : public testing::Test {
 protected:
  // Reading must not wait: the program ends where it does.
  void SetUp() override { alarm(60); }
  void TearDown() override { alarm(0); }

  std::string Path(const std::string& name) const {
    return folder_.path() + "/" + name;
  }
  void ExpectRefused(const std::string& path, const std::string& kind) const {
    const absl::Status status = ReadFile(path, kMost).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_EQ(status.message(),
              absl::StrCat(path, ": expected an ordinary file, found ", kind));
  }

  const TestFolder folder_;
};

TEST_F(ReadFileTest, ReadsEveryByte) {
  std::string bytes(70'000, 'x');
  bytes[65'536] = '\0';
  EXPECT_EQ(*ReadFile(folder_.Write("a", bytes), kMost), bytes);
  EXPECT_EQ(*ReadFile(folder_.Write("b", ""), kMost), "");
}

TEST_F(ReadFileTest, TellsWhyItCannot) {
  EXPECT_TRUE(absl::IsNotFound(ReadFile(Path("none"), kMost).status()));
  EXPECT_EQ(ReadFile(folder_.path(), kMost).status().message(),
            folder_.path() + ": Is a directory");
  const std::string large = folder_.Write("large", std::string(11, 'x'));
  EXPECT_EQ(ReadFile(large, 11)->size(), 11U);
  EXPECT_EQ(ReadFile(large, 10).status().message(),
            large + ":1:1: the file is larger than 10 bytes");
}

TEST_F(ReadFileTest, WaitsForNoPipe) {
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  ExpectRefused(Path("pipe"), "a pipe");
  std::filesystem::create_symlink("pipe", Path("link"));
  ExpectRefused(Path("link"), "a pipe");
}

TEST_F(ReadFileTest, ReadsNeitherSocketNorDevice) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  const std::string path = Path("s");
  ASSERT_LT(path.size(), sizeof(address.sun_path));
  path.copy(address.sun_path, path.size());
  const int socket_end = socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(bind(socket_end, reinterpret_cast<const sockaddr*>(&address),
                 sizeof(address)),
            0);
  ExpectRefused(path, "a socket");
  close(socket_end);
  ExpectRefused("/dev/zero", "a device");
}

// As a shell does for `<(command)`.
TEST_F(ReadFileTest, ReadsAPipeThatItWasGiven) {
  int ends[2] = {};
  ASSERT_EQ(pipe(ends), 0);
  const std::string text = "written by another program";
  ASSERT_EQ(write(ends[1], text.data(), text.size()),
            static_cast<ssize_t>(text.size()));
  close(ends[1]);
  EXPECT_EQ(*ReadFile(absl::StrCat("/dev/fd/", ends[0]), kMost), text);
  close(ends[0]);
}

TEST_F(ReadFileTest, RefusesAStreamWithoutAnEnd) {
  const int zero = open("/dev/zero", O_RDONLY);
  EXPECT_THAT(
      std::string(
          ReadFile(absl::StrCat("/dev/fd/", zero), kMost).status().message()),
      HasSubstr(":1:1: the file is larger than 100000 bytes"));
  close(zero);
}

}  // namespace
}  // namespace banyan
