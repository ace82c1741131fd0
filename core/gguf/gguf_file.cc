#include "core/gguf/gguf_file.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "core/base/messages.h"

namespace banyan {
namespace {

constexpr absl::string_view kMagic = "GGUF";
constexpr std::uint32_t kVersion = 3;
constexpr std::uint32_t kMostSizes = 4;
constexpr std::int64_t kAlignmentUnit = 8;  // the format's
constexpr std::int64_t kMostAlignment = std::int64_t{1} << 20;

// What a value's type number means.
enum ValueType : std::uint32_t {
  kUint8,
  kInt8,
  kUint16,
  kInt16,
  kUint32,
  kInt32,
  kFloat32,
  kBool,
  kString,
  kArray,
  kUint64,
  kInt64,
  kFloat64,
  kValueTypes,
};

// The bytes of a value; of a text or list the fewest.
constexpr std::array<std::size_t, kValueTypes> kValueBytes = {
    1, 1, 2, 2, 4, 4, 4, 1, 8, 12, 8, 8, 8};

struct TensorType {
  std::uint32_t number;
  absl::string_view name;
  std::optional<DType> dtype = std::nullopt;  // none: known by name only
};

constexpr TensorType kTensorTypes[] = {
    {0, "F32", DType::kF32},
    {1, "F16", DType::kF16},
    {2, "Q4_0", DType::kQ4_0},
    {3, "Q4_1", DType::kQ4_1},
    {6, "Q5_0", DType::kQ5_0},
    {7, "Q5_1", DType::kQ5_1},
    {8, "Q8_0", DType::kQ8_0},
    {9, "Q8_1"},
    {10, "Q2_K"},
    {11, "Q3_K"},
    {12, "Q4_K", DType::kQ4K},
    {13, "Q5_K", DType::kQ5K},
    {14, "Q6_K", DType::kQ6K},
    {15, "Q8_K"},
    {16, "IQ2_XXS"},
    {17, "IQ2_XS"},
    {18, "IQ3_XXS"},
    {19, "IQ1_S"},
    {20, "IQ4_NL"},
    {21, "IQ3_S"},
    {22, "IQ2_S"},
    {23, "IQ4_XS"},
    {24, "I8"},
    {25, "I16"},
    {26, "I32"},
    {27, "I64"},
    {28, "F64"},
    {29, "IQ1_M"},
    {30, "BF16", DType::kBf16},
    {34, "TQ1_0"},
    {35, "TQ2_0"},
    {39, "MXFP4"},
};

absl::StatusOr<DType> DTypeOf(std::uint32_t number) {
  std::vector<absl::string_view> read;
  absl::string_view name;
  for (const TensorType& type : kTensorTypes) {
    if (type.dtype.has_value()) read.push_back(type.name);
    if (type.number != number) continue;
    if (type.dtype.has_value()) return *type.dtype;
    name = type.name;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("expected one of the types ", absl::StrJoin(read, ", "),
                   ", found ", name.empty() ? "type number " : name,
                   name.empty() ? absl::StrCat(number) : ""));
}

// Reads a file from its begin on. After an error it reads nothing more.
class Cursor {
 public:
  explicit Cursor(absl::Span<const std::byte> file) : file_(file) {}

  std::size_t at() const { return at_; }
  std::size_t left() const { return file_.size() - at_; }

  // "at byte N: expected ..., found the file's end".
  absl::Status Ends(absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat(
        "at byte ", at_, ": expected ", what, ", found the file's end"));
  }

  template <typename T>
  absl::StatusOr<T> Number(absl::string_view what) {
    if (left() < sizeof(T)) return Ends(what);
    T number;
    std::memcpy(&number, &file_[at_], sizeof(T));
    at_ += sizeof(T);
    return number;
  }

  absl::StatusOr<absl::Span<const std::byte>> Bytes(std::uint64_t count,
                                                    absl::string_view what) {
    if (count > left())
      return absl::InvalidArgumentError(
          absl::StrCat("at byte ", at_, ": expected ", what, " of ", count,
                       " bytes, found ", left(), " to the file's end"));
    const auto bytes = file_.subspan(at_, static_cast<std::size_t>(count));
    at_ += static_cast<std::size_t>(count);
    return bytes;
  }

  absl::StatusOr<absl::string_view> Text(absl::string_view what) {
    BANYAN_ASSIGN_OR_RETURN(const auto length, Number<std::uint64_t>(what));
    BANYAN_ASSIGN_OR_RETURN(const auto bytes, Bytes(length, what));
    return absl::string_view(reinterpret_cast<const char*>(bytes.data()),
                             bytes.size());
  }

 private:
  absl::Span<const std::byte> file_;
  std::size_t at_ = 0;
};

template <typename T>
absl::StatusOr<GgufValue> WholeValue(Cursor& in) {
  BANYAN_ASSIGN_OR_RETURN(const T number, in.Number<T>("a number"));
  if constexpr (std::is_same_v<T, std::uint64_t>)
    if (number > std::uint64_t{std::numeric_limits<std::int64_t>::max()})
      return absl::InvalidArgumentError(
          absl::StrCat("expected a number below 2^63, found ", number));
  return GgufValue(static_cast<std::int64_t>(number));
}

absl::StatusOr<GgufValue> ReadList(Cursor& in) {
  GgufList list;
  BANYAN_ASSIGN_OR_RETURN(list.type, in.Number<std::uint32_t>("a type"));
  if (list.type >= kValueTypes || list.type == kArray)
    return absl::InvalidArgumentError(absl::StrCat(
        "expected a list of numbers or texts, found one of type number ",
        list.type));
  BANYAN_ASSIGN_OR_RETURN(list.count, in.Number<std::uint64_t>("a count"));
  if (list.count > in.left() / kValueBytes[list.type])
    return absl::InvalidArgumentError(
        absl::StrCat("a list of ", list.count, " items is longer than the ",
                     in.left(), " bytes to the file's end"));
  if (list.type != kString) {
    BANYAN_ASSIGN_OR_RETURN(
        list.items, in.Bytes(list.count * kValueBytes[list.type], "a list"));
    return GgufValue(list);
  }
  Cursor begin = in;
  for (std::uint64_t i = 0; i < list.count; ++i)
    BANYAN_RETURN_IF_ERROR(in.Text("a text").status());
  BANYAN_ASSIGN_OR_RETURN(list.items,
                          begin.Bytes(in.at() - begin.at(), "a list"));
  return GgufValue(list);
}

absl::StatusOr<GgufValue> ReadValue(Cursor& in) {
  BANYAN_ASSIGN_OR_RETURN(const auto type, in.Number<std::uint32_t>("a type"));
  switch (type) {
    case kUint8:
      return WholeValue<std::uint8_t>(in);
    case kInt8:
      return WholeValue<std::int8_t>(in);
    case kUint16:
      return WholeValue<std::uint16_t>(in);
    case kInt16:
      return WholeValue<std::int16_t>(in);
    case kUint32:
      return WholeValue<std::uint32_t>(in);
    case kInt32:
      return WholeValue<std::int32_t>(in);
    case kUint64:
      return WholeValue<std::uint64_t>(in);
    case kInt64:
      return WholeValue<std::int64_t>(in);
    case kFloat32: {
      BANYAN_ASSIGN_OR_RETURN(const auto number, in.Number<float>("a number"));
      return GgufValue(double{number});
    }
    case kFloat64: {
      BANYAN_ASSIGN_OR_RETURN(const auto number, in.Number<double>("a number"));
      return GgufValue(number);
    }
    case kBool: {
      BANYAN_ASSIGN_OR_RETURN(const auto number,
                              in.Number<std::uint8_t>("true or false"));
      return GgufValue(number != 0);
    }
    case kString: {
      BANYAN_ASSIGN_OR_RETURN(const absl::string_view text, in.Text("a text"));
      return GgufValue(text);
    }
    case kArray:
      return ReadList(in);
    default:
      return absl::InvalidArgumentError(absl::StrCat(
          "expected a type from 0 to ", kValueTypes - 1, ", found ", type));
  }
}

absl::Status Within(absl::string_view what, absl::string_view name,
                    const absl::Status& status) {
  return absl::InvalidArgumentError(
      absl::StrCat(what, " ", QuotedName(name), ": ", status.message()));
}

struct Placed {
  GgufTensor tensor;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

// How many bytes a tensor of this type and shape has.
absl::StatusOr<std::uint64_t> BytesOf(const GgufTensor& tensor) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const std::int64_t block = DTypeBlock(tensor.dtype);
  if (tensor.shape.back() % block != 0)
    return absl::InvalidArgumentError(absl::StrCat(
        "expected rows of whole blocks of ", block, " numbers (",
        DTypeName(tensor.dtype), "), found rows of ", tensor.shape.back()));
  std::int64_t numbers = 1;
  for (const std::int64_t size : tensor.shape) {
    if (size != 0 && numbers > kMost / DTypeBytes(tensor.dtype) / size)
      return absl::InvalidArgumentError(absl::StrCat(
          "has too many numbers: ", absl::StrJoin(tensor.shape, " x ")));
    numbers *= size;
  }
  return static_cast<std::uint64_t>(numbers / block * DTypeBytes(tensor.dtype));
}

absl::StatusOr<Placed> ReadTensor(Cursor& in) {
  Placed placed;
  BANYAN_ASSIGN_OR_RETURN(const auto sizes,
                          in.Number<std::uint32_t>("a number of sizes"));
  if (sizes < 1 || sizes > kMostSizes)
    return absl::InvalidArgumentError(absl::StrCat(
        "expected from 1 to ", kMostSizes, " sizes, found ", sizes));
  for (std::uint32_t i = 0; i < sizes; ++i) {
    BANYAN_ASSIGN_OR_RETURN(const auto size,
                            in.Number<std::uint64_t>("a size"));
    if (size > std::uint64_t{std::numeric_limits<std::int64_t>::max()})
      return absl::InvalidArgumentError(
          absl::StrCat("expected a size below 2^63, found ", size));
    placed.tensor.shape.insert(placed.tensor.shape.begin(),
                               static_cast<std::int64_t>(size));
  }
  BANYAN_ASSIGN_OR_RETURN(const auto type, in.Number<std::uint32_t>("a type"));
  BANYAN_ASSIGN_OR_RETURN(placed.tensor.dtype, DTypeOf(type));
  BANYAN_ASSIGN_OR_RETURN(placed.bytes, BytesOf(placed.tensor));
  BANYAN_ASSIGN_OR_RETURN(placed.offset,
                          in.Number<std::uint64_t>("a place of data"));
  return placed;
}

using Placing = std::map<std::string, Placed, std::less<>>;

// Gives every tensor its data.
absl::Status PlaceTensors(absl::Span<const std::byte> data,
                          std::uint64_t alignment, const Placing& placing,
                          Gguf& out) {
  std::vector<std::tuple<std::uint64_t, std::uint64_t, absl::string_view>> all;
  for (const auto& [name, placed] : placing) {
    const auto wrong = [&name = name](const std::string& what) {
      return Within("tensor", name, absl::InvalidArgumentError(what));
    };
    if (placed.offset % alignment != 0)
      return wrong(absl::StrCat("expected its data at a multiple of ",
                                alignment, ", found it at ", placed.offset));
    if (placed.offset > data.size() ||
        placed.bytes > data.size() - placed.offset)
      return wrong(absl::StrCat("its ", placed.bytes, " bytes at ",
                                placed.offset, " of the data end after the ",
                                data.size(), " that the file has"));
    all.emplace_back(placed.offset, placed.offset + placed.bytes, name);
    GgufTensor tensor = placed.tensor;
    tensor.data = data.subspan(static_cast<std::size_t>(placed.offset),
                               static_cast<std::size_t>(placed.bytes));
    out.tensors.emplace(name, std::move(tensor));
  }
  std::sort(all.begin(), all.end());
  for (std::size_t i = 1; i < all.size(); ++i)
    if (std::get<0>(all[i]) < std::get<1>(all[i - 1]))
      return Within("tensor", std::get<2>(all[i]),
                    absl::InvalidArgumentError(
                        absl::StrCat("its data overlap those of ",
                                     QuotedName(std::get<2>(all[i - 1])))));
  return absl::OkStatus();
}

absl::Status ReadKeys(Cursor& in, std::uint64_t count, Gguf& out) {
  for (std::uint64_t i = 0; i < count; ++i) {
    BANYAN_ASSIGN_OR_RETURN(const absl::string_view key, in.Text("a key"));
    absl::StatusOr<GgufValue> value = ReadValue(in);
    if (!value.ok()) return Within("key", key, value.status());
    if (!out.keys.emplace(std::string(key), *value).second)
      return Within("key", key, absl::InvalidArgumentError("comes twice"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::uint64_t> Alignment(const Gguf& contents) {
  const auto found = contents.keys.find("general.alignment");
  if (found == contents.keys.end()) return 32;
  const std::int64_t* number = std::get_if<std::int64_t>(&found->second);
  if (number == nullptr || *number < kAlignmentUnit ||
      *number > kMostAlignment || *number % kAlignmentUnit != 0)
    return absl::InvalidArgumentError(absl::StrCat(
        "general.alignment: expected a multiple of ", kAlignmentUnit, " up to ",
        kMostAlignment, ", found ",
        number == nullptr ? "another type" : absl::StrCat(*number)));
  return static_cast<std::uint64_t>(*number);
}

absl::Status CheckWhole(const Gguf& contents) {
  const auto found = contents.keys.find("split.count");
  if (found == contents.keys.end()) return absl::OkStatus();
  const std::int64_t* parts = std::get_if<std::int64_t>(&found->second);
  if (parts != nullptr && *parts <= 1) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "split.count: expected a whole model, found one part of a split one; "
      "merge its parts first (llama-gguf-split --merge)");
}

absl::StatusOr<Gguf> Parse(absl::Span<const std::byte> file) {
  Cursor in(file);
  BANYAN_ASSIGN_OR_RETURN(const auto magic,
                          in.Bytes(kMagic.size(), "the letters GGUF"));
  if (std::memcmp(magic.data(), kMagic.data(), kMagic.size()) != 0)
    return absl::InvalidArgumentError(
        "at byte 0: expected the letters GGUF, found others");
  BANYAN_ASSIGN_OR_RETURN(const auto version,
                          in.Number<std::uint32_t>("a version"));
  if (version != kVersion)
    return absl::InvalidArgumentError(
        absl::StrCat("expected version ", kVersion, ", found ",
                     version == kVersion << 24
                         ? absl::StrCat(kVersion, " of a big-endian machine")
                         : absl::StrCat(version)));
  BANYAN_ASSIGN_OR_RETURN(const auto tensors,
                          in.Number<std::uint64_t>("a number of tensors"));
  BANYAN_ASSIGN_OR_RETURN(const auto keys,
                          in.Number<std::uint64_t>("a number of keys"));
  Gguf out;
  BANYAN_RETURN_IF_ERROR(ReadKeys(in, keys, out));
  BANYAN_RETURN_IF_ERROR(CheckWhole(out));
  Placing placing;
  for (std::uint64_t i = 0; i < tensors; ++i) {
    BANYAN_ASSIGN_OR_RETURN(const absl::string_view name,
                            in.Text("a tensor's name"));
    absl::StatusOr<Placed> placed = ReadTensor(in);
    if (!placed.ok()) return Within("tensor", name, placed.status());
    if (!placing.emplace(std::string(name), *std::move(placed)).second)
      return Within("tensor", name, absl::InvalidArgumentError("comes twice"));
  }
  BANYAN_ASSIGN_OR_RETURN(const std::uint64_t alignment, Alignment(out));
  const std::size_t begin =
      std::min(file.size(), static_cast<std::size_t>((in.at() + alignment - 1) /
                                                     alignment * alignment));
  BANYAN_RETURN_IF_ERROR(
      PlaceTensors(file.subspan(begin), alignment, placing, out));
  return out;
}

template <typename T>
void AppendNumbers(const GgufList& list, std::vector<double>& out) {
  for (std::uint64_t i = 0; i < list.count; ++i) {
    T number;
    std::memcpy(&number, &list.items[i * sizeof(T)], sizeof(T));
    out.push_back(static_cast<double>(number));
  }
}

}  // namespace

absl::StatusOr<Gguf> ParseGguf(absl::Span<const std::byte> file,
                               const std::string& file_name) {
  absl::StatusOr<Gguf> parsed = Parse(file);
  if (parsed.ok()) return parsed;
  return absl::InvalidArgumentError(
      absl::StrCat(file_name, ": ", parsed.status().message()));
}

std::vector<absl::string_view> GgufTexts(const GgufList& list) {
  std::vector<absl::string_view> texts;
  if (list.type != kString) return texts;
  Cursor in(list.items);
  for (std::uint64_t i = 0; i < list.count; ++i)
    texts.push_back(in.Text("a text").value());
  return texts;
}

std::vector<double> GgufNumbers(const GgufList& list) {
  std::vector<double> numbers;
  switch (list.type) {
    case kUint8:
      AppendNumbers<std::uint8_t>(list, numbers);
      break;
    case kInt8:
      AppendNumbers<std::int8_t>(list, numbers);
      break;
    case kUint16:
      AppendNumbers<std::uint16_t>(list, numbers);
      break;
    case kInt16:
      AppendNumbers<std::int16_t>(list, numbers);
      break;
    case kUint32:
      AppendNumbers<std::uint32_t>(list, numbers);
      break;
    case kInt32:
      AppendNumbers<std::int32_t>(list, numbers);
      break;
    case kUint64:
      AppendNumbers<std::uint64_t>(list, numbers);
      break;
    case kInt64:
      AppendNumbers<std::int64_t>(list, numbers);
      break;
    case kFloat32:
      AppendNumbers<float>(list, numbers);
      break;
    case kFloat64:
      AppendNumbers<double>(list, numbers);
      break;
    default:
      break;
  }
  return numbers;
}

bool IsGguf(absl::string_view path) {
  return absl::EndsWithIgnoreCase(path, ".gguf");
}

}  // namespace banyan
