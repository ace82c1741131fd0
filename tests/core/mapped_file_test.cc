// Files that are cut short while they are mapped.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "core/base/common.h"
#include "core/base/input_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/checkpoint/files.h"

namespace banyan {
namespace {

using testing::HasSubstr;

class MappedFileTest : public testing::Test {
 protected:
  // Three pages of the letter.
  std::unique_ptr<MappedFile> Open(const std::string& name, char letter) const {
    auto file = MappedFile::Open(folder_.Write(name, Text(letter)));
    EXPECT_TRUE(file.ok()) << file.status();
    return *std::move(file);
  }
  std::string Text(char letter) const { return std::string(3 * page_, letter); }
  // Reads past the compiler.
  char At(const MappedFile& file, std::size_t offset) const {
    const volatile std::byte& byte = file.bytes()[offset];
    return static_cast<char>(byte);
  }

  const TestFolder folder_;
  const std::size_t page_ = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
};

TEST_F(MappedFileTest, WhatWasCutOffReadsAsZerosAndIsTold) {
  const auto file = Open("a", 'a');
  EXPECT_EQ(At(*file, 2 * page_), 'a');
  std::filesystem::resize_file(file->path(), page_);
  EXPECT_EQ(At(*file, 2 * page_), '\0');
  EXPECT_EQ(At(*file, page_), '\0');
  EXPECT_EQ(At(*file, page_ - 1), 'a');
  const absl::Status cut = file->CheckLength();
  EXPECT_TRUE(absl::IsDataLoss(cut)) << cut;
  EXPECT_THAT(std::string(cut.message()), HasSubstr("cut short since"));
}

TEST_F(MappedFileTest, ThatZerosWereReadIsToldThoughTheFileIsLongAgain) {
  const auto file = Open("a", 'a');
  std::filesystem::resize_file(file->path(), page_);
  EXPECT_EQ(At(*file, 2 * page_), '\0');
  std::filesystem::resize_file(file->path(), 3 * page_);
  const absl::Status cut = file->CheckLength();
  EXPECT_TRUE(absl::IsDataLoss(cut)) << cut;
  EXPECT_THAT(std::string(cut.message()),
              HasSubstr("found fewer while it was read"));
}

TEST_F(MappedFileTest, OneFileThatWasCutSaysNothingOfOthers) {
  const auto other = Open("other", 'b');
  for (int turn = 0; turn < 3; ++turn) {
    const auto file = Open("a", 'a');
    EXPECT_TRUE(file->CheckLength().ok());
    std::filesystem::resize_file(file->path(), 0);
    std::thread([&] { EXPECT_EQ(At(*file, page_), '\0'); }).join();
    EXPECT_FALSE(file->CheckLength().ok());
  }
  EXPECT_TRUE(other->CheckLength().ok());
  EXPECT_EQ(At(*other, page_), 'b');
}

TEST_F(MappedFileTest, ACutElsewhereStillEndsTheProgram) {
  const auto guarded = Open("guarded", 'b');
  const std::string path = folder_.Write("a", Text('a'));
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(descriptor, 0);
  void* const start =
      mmap(nullptr, 3 * page_, PROT_READ, MAP_PRIVATE, descriptor, 0);
  close(descriptor);
  ASSERT_NE(start, MAP_FAILED);
  std::filesystem::resize_file(path, 0);
  const auto* const cut = static_cast<const volatile char*>(start) + page_;
  EXPECT_DEATH((void)*cut, "");
  munmap(start, 3 * page_);
}

}  // namespace
}  // namespace banyan
