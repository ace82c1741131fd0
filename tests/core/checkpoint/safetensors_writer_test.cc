#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/base/common.h"
#include "core/base/number_rows.h"
#include "core/checkpoint/safetensors.h"
#include "core/checkpoint/stored_tensor.h"
#include "core/checkpoint/tensor_file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/checkpoint/files.h"
#include "tests/support/few_bytes.h"

namespace banyan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> FilesOf(const TestFolder& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    names.push_back(entry.path().filename().string());
  return names;
}

TEST(SafetensorsWriter, WritesWhatTheReaderReads) {
  const TestFolder folder;
  const std::string path = folder.Write("x.safetensors", "an older file");
  // Not in the order of names; one without numbers, one of rank 0.
  auto writer = SafetensorsWriter::Create(path, {{"z", DType::kF32, {2, 1}},
                                                 {"empty", DType::kF32, {3, 0}},
                                                 {"a \"b\"", DType::kBf16, {3}},
                                                 {"one", DType::kF16, {}}});
  ASSERT_TRUE(writer.ok()) << writer.status();
  // Pieces need not end where tensors do.
  ASSERT_TRUE((*writer)->Append(Bytes("01234567a")).ok());
  ASSERT_TRUE((*writer)->Append(Bytes("")).ok());
  EXPECT_EQ(folder.Read("x.safetensors"), "an older file");
  ASSERT_TRUE((*writer)->Append(Bytes("bcdefzz")).ok());
  const absl::Status status = (*writer)->Finish();
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_THAT(FilesOf(folder), ElementsAre("x.safetensors"));
  const auto file = TensorFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_EQ((*file)->tensors().size(), 4u);
  const StoredTensor* z = (*file)->Find("z");
  ASSERT_NE(z, nullptr);
  EXPECT_EQ(z->dtype, DType::kF32);
  EXPECT_THAT(z->shape, ElementsAre(2, 1));
  EXPECT_EQ(z->data, Bytes("01234567"));
  EXPECT_EQ((*file)->Find("a \"b\"")->data, Bytes("abcdef"));
  EXPECT_EQ((*file)->Find("one")->data, Bytes("zz"));
  EXPECT_TRUE((*file)->Find("one")->shape.empty());
}

TEST(SafetensorsWriter, LeavesNothingWhenItIsGivenUp) {
  const TestFolder folder;
  {
    const auto writer = SafetensorsWriter::Create(
        folder.path() + "/x.safetensors", {{"z", DType::kF32, {2}}});
    ASSERT_TRUE(writer.ok()) << writer.status();
    ASSERT_TRUE((*writer)->Append(Bytes("0123")).ok());
    EXPECT_THAT(FilesOf(folder), ElementsAre("x.safetensors.partial"));
  }
  EXPECT_TRUE(FilesOf(folder).empty());
}

TEST(SafetensorsWriter, SaysThatTheFileCannotBeMade) {
  const std::string path = "no_such_folder/x.safetensors";
  const absl::Status status =
      SafetensorsWriter::Create(path, {{"z", DType::kF32, {2}}}).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr(path + ": No such file"));
}

TEST(SafetensorsWriter, SaysThatTheDiskIsFullAndLeavesNoFile) {
  const TestFolder folder;
  constexpr std::size_t kNumbers = 1 << 16;
  const std::string numbers(4 * kNumbers, 'x');
  // Full while appending, and only when what is buffered goes out.
  for (const std::size_t bytes : {numbers.size(), std::size_t{4}}) {
    const FewBytes few(50);
    auto writer = SafetensorsWriter::Create(
        folder.path() + "/x.safetensors",
        {{"z", DType::kF32, {static_cast<int>(bytes / 4)}}});
    ASSERT_TRUE(writer.ok()) << writer.status();
    absl::Status status = (*writer)->Append(Bytes(numbers).subspan(0, bytes));
    if (status.ok()) status = (*writer)->Finish();
    EXPECT_TRUE(absl::IsInternal(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("File too large"));
    writer->reset();
    EXPECT_TRUE(FilesOf(folder).empty());
  }
}

TEST(SafetensorsWriterDeathTest, WritesNeitherMoreNorLessThanItSaid) {
  const TestFolder folder;
  const auto writer = SafetensorsWriter::Create(
      folder.path() + "/x.safetensors", {{"z", DType::kF32, {1}}});
  ASSERT_TRUE(writer.ok()) << writer.status();
  EXPECT_DEATH((void)(*writer)->Append(Bytes("01234")), "no more bytes");
  EXPECT_DEATH((void)(*writer)->Finish(), "all bytes");
}

}  // namespace
}  // namespace banyan
