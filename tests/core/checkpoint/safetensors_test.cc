#include "core/checkpoint/safetensors.h"

#include <sys/stat.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/common.h"
#include "core/base/number_rows.h"
#include "core/checkpoint/stored_tensor.h"
#include "core/checkpoint/tensor_file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/checkpoint/files.h"

namespace banyan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Two tensors, one of rank 0, one without elements, metadata, padding.
std::string GoodFile() {
  return SafetensorsFile(
      R"({"__metadata__":{"format":"pt","n":""},)"
      R"("b":{"dtype":"F32","shape":[2],"data_offsets":[2,10]},)"
      R"("a":{"data_offsets":[0,2],"shape":[2,1],"dtype":"I8"},)"
      R"("none":{"dtype":"F64","shape":[3,0],"data_offsets":[10,10]},)"
      R"("one":{"dtype":"BF16","shape":[],"data_offsets":[10,12]}}    )",
      "xy01234567zz");
}

absl::StatusOr<StoredTensors> Parse(const std::string& file) {
  return ParseSafetensors(Bytes(file), "f");
}

std::string Refusal(const std::string& file) {
  const auto tensors = Parse(file);
  if (tensors.ok()) return "it was read";
  EXPECT_TRUE(absl::IsInvalidArgument(tensors.status()));
  return std::string(tensors.status().message());
}

TEST(Safetensors, GivesNamesTypesShapesAndBytes) {
  const std::string file = GoodFile();
  const auto tensors = Parse(file);
  ASSERT_TRUE(tensors.ok()) << tensors.status();
  ASSERT_EQ(tensors->size(), 4u);
  const StoredTensor& a = tensors->at("a");
  EXPECT_EQ(a.dtype, DType::kI8);
  EXPECT_THAT(a.shape, ElementsAre(2, 1));
  EXPECT_EQ(a.data, Bytes("xy"));
  EXPECT_EQ(tensors->at("b").dtype, DType::kF32);
  EXPECT_EQ(tensors->at("b").data, Bytes("01234567"));
  EXPECT_TRUE(tensors->at("none").data.empty());
  EXPECT_TRUE(tensors->at("one").shape.empty());
  EXPECT_EQ(tensors->at("one").data, Bytes("zz"));
}

TEST(Safetensors, KnowsEveryTypeByNameAndSize) {
  const std::vector<std::pair<std::string, int>> sizes = {
      {"F64", 8}, {"F32", 4},  {"F16", 2},     {"BF16", 2},
      {"I64", 8}, {"I32", 4},  {"I16", 2},     {"I8", 1},
      {"U8", 1},  {"BOOL", 1}, {"F8_E4M3", 1}, {"F8_E5M2", 1}};
  for (const auto& [name, size] : sizes) {
    SCOPED_TRACE(name);
    const auto tensors = Parse(SafetensorsFile(
        {{"t",
          {name, {3}, std::string(static_cast<std::size_t>(3 * size), 'x')}}}));
    ASSERT_TRUE(tensors.ok()) << tensors.status();
    EXPECT_EQ(DTypeName(tensors->at("t").dtype), name);
  }
}

TEST(Safetensors, RefusesEveryShorterFileAndALongerOne) {
  const std::string file = GoodFile();
  for (std::size_t size = 0; size < file.size(); ++size) {
    SCOPED_TRACE(size);
    const std::string cut = file.substr(0, size);
    EXPECT_THAT(Refusal(cut), testing::StartsWith("f: "));
  }
  EXPECT_THAT(Refusal(file + "x"), HasSubstr("end at byte 12 of the data, the "
                                             "file at byte 13"));
}

TEST(Safetensors, RefusesAHeaderThatCannotBe) {
  EXPECT_THAT(Refusal(""), HasSubstr("at least 8 bytes, found 0"));
  EXPECT_THAT(Refusal(std::string(8, '\xff')),
              HasSubstr("at most 0 bytes, found one of 18446744073709551615"));
  EXPECT_THAT(Refusal(std::string(8, '\0')), HasSubstr("begins with {"));
  EXPECT_THAT(Refusal(SafetensorsFile(" {}", "")), HasSubstr("begins with {"));
  EXPECT_THAT(Refusal(SafetensorsFile("[]", "")), HasSubstr("begins with {"));
  EXPECT_THAT(Refusal(SafetensorsFile("{}{}", "")),
              HasSubstr("f: header:1:3: not valid JSON: "));
  EXPECT_THAT(Refusal(SafetensorsFile("{\"\xff\":{}}", "")),
              HasSubstr("f: header:1:3: not valid JSON: "));
  const std::string deep(std::size_t{1} << 20, '[');
  EXPECT_THAT(Refusal(SafetensorsFile(absl::StrCat("{\"a\":", deep), "")),
              HasSubstr("'a': expected an object of dtype"));
  EXPECT_TRUE(Parse(SafetensorsFile("{}", "")).ok());
}

TEST(Safetensors, RefusesAHeaderAboveTheLimitOfTheFormat) {
  constexpr std::size_t kLimit = 100'000'000;
  std::string header(kLimit, ' ');
  header.replace(0, 2, "{}");
  EXPECT_TRUE(Parse(SafetensorsFile(header, "")).ok());
  header.push_back(' ');
  EXPECT_THAT(Refusal(SafetensorsFile(header, "")),
              HasSubstr("at most 100000000 bytes, found one of 100000001"));
}

struct Broken {
  std::string header;
  std::string message;
};

TEST(Safetensors, RefusesAnEntryThatIsNone) {
  const std::vector<Broken> all = {
      {R"({"a":3})", "header: 'a': expected an object of dtype, shape"},
      {R"({"a":null})", "found null"},
      {R"({"a":{}})", "tensor 'a': expected dtype, shape and data_offsets"},
      {R"({"a":{"dtype":"I8","shape":[4]}})", "expected dtype, shape and"},
      {R"({"a":{"dtype":"I8","shape":[4],"data_offsets":[0,4],"x":1}})",
       "tensor 'a': 'x': expected dtype, shape or data_offsets"},
      {R"({"a":{"dtype":"I8","dtype":"I8"}})",
       "header:1:20: key 'dtype' is given twice"},
      {R"({"a":{"dtype":"I8","shape":[2],"data_offsets":[0,2]},)"
       R"("a":{"dtype":"I8","shape":[2],"data_offsets":[2,4]}})",
       "header:1:54: key 'a' is given twice"},
      {R"({"a":{"dtype":"I4","shape":[4],"data_offsets":[0,4]}})",
       "tensor 'a': 'dtype': unknown dtype 'I4'; known: F64, F32"},
      {R"({"a":{"dtype":4,"shape":[4],"data_offsets":[0,4]}})",
       "'dtype': expected the name of a type, found 4"},
      {R"({"a":{"dtype":["I8"]}})", "expected the name of a type"},
      {R"({"a":{"dtype":"I8","shape":4}})", "'shape': expected a list"},
      {R"({"a":{"dtype":"I8","shape":"4"}})", "'shape': expected a list"},
      {R"({"a":{"dtype":"I8","shape":{}}})", "'shape': expected a list"},
      {R"({"a":{"dtype":"I8","shape":[[4]]}})", "below 2^63, found a list"},
      {R"({"a":{"dtype":"I8","shape":[-4]}})", "below 2^63, found -4"},
      {R"({"a":{"dtype":"I8","shape":[4.0]}})", "below 2^63, found 4.0"},
      {R"({"a":{"dtype":"I8","shape":[9223372036854775808]}})",
       "below 2^63, found 9223372036854775808"},
      {R"({"a":{"dtype":"I8","shape":[99999999999999999999]}})",
       "below 2^63, found 99999999999999999999"},
      {R"({"a":{"dtype":"I8","shape":[true]}})", "found true or false"},
      {R"({"a":{"dtype":"I8","shape":[4],"data_offsets":[0]}})",
       "'data_offsets': expected a begin and an end, found 1"},
      {R"({"a":{"dtype":"I8","shape":[4],"data_offsets":[0,4,4]}})",
       "expected a begin and an end, found 3"},
      {R"({"__metadata__":3})", "expected an object of texts, found 3"},
      {R"({"__metadata__":{"a":3}})", "__metadata__: 'a': expected a text"},
      {R"({"__metadata__":{"a":"","a":""}})", "key 'a' is given twice"},
      {R"({"__metadata__":{},"__metadata__":{}})",
       "key '__metadata__' is given twice"},
      {R"({"__metadata__":{"a":{}}})", "expected a text, found an object"},
  };
  for (const Broken& broken : all)
    EXPECT_THAT(Refusal(SafetensorsFile(broken.header, "1234")),
                HasSubstr(broken.message))
        << broken.header;
}

std::string Entry(absl::string_view shape, absl::string_view offsets) {
  return absl::StrCat(R"({"dtype":"I16","shape":[)", shape,
                      R"(],"data_offsets":[)", offsets, "]}");
}

TEST(Safetensors, RefusesBytesThatAreNoTensorsOrTwo) {
  const std::vector<Broken> all = {
      {Entry("2", "4,0"),
       "expected data_offsets in order and up to 4, found "
       "[4, 0]"},
      {Entry("3", "0,6"), "up to 4, found [0, 6]"},
      {Entry("2", "0,9223372036854775807"), "in order and up to 4"},
      {Entry("1", "0,4"),
       "I16 of shape [1] has 2 bytes, its data_offsets [0, 4] say 4"},
      {Entry("3", "0,4"), "I16 of shape [3] has 6 bytes"},
      {Entry("0", "0,4"), "has 0 bytes"},
      {Entry("4294967296,4294967296", "0,0"), "has too many elements"},
      {Entry("4611686018427387904,2", "0,0"), "has too many elements"},
      {Entry("4611686018427387904", "0,0"), "has too many elements"},
      {Entry("1", "2,4"), "to begin where others end, at 0, found 2"},
      {Entry("1", "0,2"), "the tensors end at byte 2 of the data"},
      {Entry("2", "0,4") + R"(,"b":)" + Entry("1", "2,4"),
       "tensor 'b': expected its bytes to begin where others end, at 4, found"},
      {Entry("2", "0,4") + R"(,"b":)" + Entry("2", "0,4"), "found 0"},
      {Entry("2", "0,4") + R"(,"b":)" + Entry("0", "2,2"), "found 2"},
  };
  for (const Broken& broken : all)
    EXPECT_THAT(Refusal(SafetensorsFile(
                    absl::StrCat(R"({"a":)", broken.header, "}"), "1234")),
                HasSubstr(broken.message))
        << broken.header;
}

TEST(Safetensors, NamesInMessagesAreEscapedAndCut) {
  const std::string name(1000, 'n');
  const std::string message =
      Refusal(SafetensorsFile(absl::StrCat("{\"\\u0007", name, "\":3}"), ""));
  EXPECT_THAT(message, HasSubstr("'\\x07nnn"));
  EXPECT_LT(message.size(), 250u);
}

TEST(SafetensorsFile, IsReadFromDiskAndAgainAfterItsMemoryIsGivenBack) {
  const TestFolder folder;
  std::string data(1 << 16, '\0');
  for (std::size_t i = 0; i < data.size(); ++i)
    data[i] = static_cast<char>(i % 251);
  const std::string text = SafetensorsFile({{"a", {"U8", {3}, "abc"}},
                                            {"b", {"U8", {1 << 16}, data}},
                                            {"c", {"U8", {0}, ""}}});
  const auto file = TensorFile::Open(folder.Write("m.safetensors", text));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ((*file)->path(), folder.path() + "/m.safetensors");
  EXPECT_EQ((*file)->Find("d"), nullptr);
  for (const absl::string_view name : {"a", "b", "c"}) {
    const StoredTensor* tensor = (*file)->Find(name);
    ASSERT_NE(tensor, nullptr);
    const std::vector<std::byte> before(tensor->data.begin(),
                                        tensor->data.end());
    (*file)->Release(*tensor);
    EXPECT_TRUE(tensor->data == absl::MakeConstSpan(before)) << name;
  }
  EXPECT_EQ((*file)->Find("b")->data, Bytes(data));
}

TEST(SafetensorsFile, RefusesWhatIsNoFileWithItsPath) {
  const TestFolder folder;
  const auto missing = TensorFile::Open(folder.path() + "/none");
  EXPECT_TRUE(absl::IsNotFound(missing.status()));
  EXPECT_THAT(std::string(missing.status().message()),
              HasSubstr(folder.path() + "/none: No such file"));
  EXPECT_THAT(std::string(TensorFile::Open(folder.path()).status().message()),
              HasSubstr("expected an ordinary file"));
  const std::string pipe = folder.path() + "/pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(std::string(TensorFile::Open(pipe).status().message()),
              HasSubstr("expected an ordinary file"));
  const auto empty = TensorFile::Open(folder.Write("empty", ""));
  EXPECT_THAT(std::string(empty.status().message()),
              HasSubstr("/empty: expected at least 8 bytes"));
}

}  // namespace
}  // namespace banyan
