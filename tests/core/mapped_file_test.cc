// Files that are cut short while they are mapped.
#include "core/base/mapped_file.h"

#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/types/span.h"
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

TEST_F(MappedFileTest, WhatWasCutOffOfAGuardedFileReadsAsZerosAndIsTold) {
  const auto file = Open("a", 'a');
  file->GuardAgainstCuts();
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
  file->GuardAgainstCuts();
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
  other->GuardAgainstCuts();
  for (int turn = 0; turn < 3; ++turn) {
    const auto file = Open("a", 'a');
    file->GuardAgainstCuts();
    EXPECT_TRUE(file->CheckLength().ok());
    std::filesystem::resize_file(file->path(), 0);
    std::thread([&] { EXPECT_EQ(At(*file, page_), '\0'); }).join();
    EXPECT_FALSE(file->CheckLength().ok());
  }
  EXPECT_TRUE(other->CheckLength().ok());
  EXPECT_EQ(At(*other, page_), 'b');
}

TEST_F(MappedFileTest, AFileWithoutAGuardEndsTheProgram) {
  const auto guarded = Open("guarded", 'b');
  guarded->GuardAgainstCuts();
  const auto file = Open("a", 'a');
  std::filesystem::resize_file(file->path(), 0);
  EXPECT_DEATH(At(*file, page_), "");
}

}  // namespace
}  // namespace banyan
