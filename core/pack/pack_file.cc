#include "core/pack/pack_file.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <system_error>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/input_files.h"
#include "core/base/messages.h"
#include "core/base/panels/weight_panels.h"
#include "core/base/weight_format.h"
#include "core/json/json_value.h"

namespace banyan {

namespace {

constexpr absl::string_view kMagic = "BANYANPK";
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kFixedBytes = 24;  // before the header
// The header of a model of a thousand layers has some twenty megabytes, most of
// them its tokenizer.
constexpr std::uint64_t kMostHeaderBytes = std::uint64_t{1} << 30;
constexpr std::int64_t kMostRows = std::int64_t{1} << 30;
constexpr std::size_t kDigits = 8;  // of a checksum

template <typename Number>
void AppendNumber(Number number, std::string& out) {
  for (std::size_t i = 0; i < sizeof(Number); ++i)
    out.push_back(static_cast<char>(number >> (8 * i) & 0xff));
}

template <typename Number>
Number NumberAt(absl::Span<const std::byte> bytes, std::size_t at) {
  Number number = 0;
  for (std::size_t i = sizeof(Number); i-- > 0;)
    number = number << 8 | std::to_integer<Number>(bytes[at + i]);
  return number;
}

std::string ChecksumText(const std::vector<std::uint32_t>& checksums) {
  std::string text;
  for (const std::uint32_t sum : checksums)
    absl::StrAppend(&text, absl::Hex(sum, absl::kZeroPad8));
  return text;
}

JsonValue HeaderJson(const PackHeader& header) {
  JsonValue texts = JsonValue::Object();
  for (const auto& [name, text] : header.texts) texts[name] = text;
  JsonValue tensors = JsonValue::Object();
  for (const auto& [name, tensor] : header.tensors)
    tensors[name] = {{"shape", tensor.shape}, {"turned", tensor.turned}};
  JsonValue vectors = JsonValue::List();
  for (const PackVector& vector : header.vectors)
    vectors.Add({{"tensor", vector.tensor},
                 {"offset", vector.offset},
                 {"numbers", vector.numbers},
                 {"checksum", ChecksumText({vector.checksum})}});
  JsonValue matrices = JsonValue::List();
  for (const PackMatrix& matrix : header.matrices) {
    JsonValue parts = JsonValue::List();
    for (const PackPart& part : matrix.parts)
      parts.Add({{"tensor", part.tensor},
                 {"first", part.first},
                 {"rows", part.rows}});
    matrices.Add({{"parts", std::move(parts)},
                  {"format", Name(matrix.format)},
                  {"rows", matrix.rows},
                  {"columns", matrix.columns},
                  {"offset", matrix.offset},
                  {"panels", matrix.panels},
                  {"checksums", ChecksumText(matrix.checksums)}});
  }
  return {
      {"format", Name(header.format)},         {"source", header.source},
      {"source_format", header.source_format}, {"texts", std::move(texts)},
      {"tensors", std::move(tensors)},         {"vectors", std::move(vectors)},
      {"matrices", std::move(matrices)}};
}

// A whole number from `least` to `most`.
absl::StatusOr<std::int64_t> Whole(const JsonAt& at, std::int64_t least,
                                   std::int64_t most) {
  BANYAN_ASSIGN_OR_RETURN(const std::int64_t number, at.Int());
  if (number < least || number > most)
    return at.Expected(
        absl::StrCat("a whole number from ", least, " to ", most));
  return number;
}

// Of a model, or of a matrix, which may be in blocks as a file had them.
absl::StatusOr<WeightFormat> FormatAt(const JsonAt& at, bool of_matrix) {
  BANYAN_ASSIGN_OR_RETURN(const std::string name, at.String());
  const std::optional<WeightFormat> format = FindFormat(name);
  if (format.has_value()) return *format;
  if (of_matrix)
    for (const WeightFormat blocks :
         {WeightFormat::kQ4Min, WeightFormat::kQ4Super})
      if (name == Name(blocks)) return blocks;
  return at.Expected("f32, bf16, q8 or q4");
}

absl::StatusOr<std::vector<std::uint32_t>> ChecksumsAt(const JsonAt& at,
                                                       std::size_t count) {
  BANYAN_ASSIGN_OR_RETURN(const std::string text, at.String());
  const auto wrong = [&] {
    return at.Expected(absl::StrCat(count * kDigits, " hexadecimal digits"));
  };
  if (text.size() != count * kDigits) return wrong();
  std::vector<std::uint32_t> checksums(count);
  for (std::size_t i = 0; i < count; ++i) {
    const char* const begin = text.data() + i * kDigits;
    const auto [end, error] =
        std::from_chars(begin, begin + kDigits, checksums[i], 16);
    if (error != std::errc() || end != begin + kDigits) return wrong();
  }
  return checksums;
}

absl::StatusOr<PackMatrix> MatrixAt(const JsonAt& at, std::int64_t data_bytes) {
  PackMatrix matrix;
  BANYAN_ASSIGN_OR_RETURN(matrix.format, FormatAt(at.At("format"), true));
  BANYAN_ASSIGN_OR_RETURN(const std::int64_t rows,
                          Whole(at.At("rows"), 1, kMostRows));
  BANYAN_ASSIGN_OR_RETURN(const std::int64_t columns,
                          Whole(at.At("columns"), 1, kMostRows));
  matrix.rows = static_cast<int>(rows);
  matrix.columns = static_cast<int>(columns);
  BANYAN_ASSIGN_OR_RETURN(const std::int64_t offset,
                          Whole(at.At("offset"), 0, data_bytes));
  matrix.offset = static_cast<std::uint64_t>(offset);
  if (matrix.offset % kPackAlignment != 0)
    return at.At("offset").Expected(
        absl::StrCat("a multiple of ", kPackAlignment));
  const std::size_t panels = PanelCount(matrix.rows);
  BANYAN_ASSIGN_OR_RETURN(
      const std::int64_t together,
      Whole(at.At("panels"), 1, static_cast<std::int64_t>(panels)));
  matrix.panels = static_cast<std::size_t>(together);
  // All its extents lie in the file, so that none has too many bytes.
  const std::size_t panel = PanelBytes(matrix.format, matrix.columns);
  if (panel > static_cast<std::size_t>(data_bytes) / panels ||
      matrix.panels * panel > std::numeric_limits<std::uint32_t>::max() ||
      matrix.end() > static_cast<std::uint64_t>(data_bytes))
    return at.Error(absl::StrCat("expected its ", panels, " panels of ", panel,
                                 " bytes within the data's ", data_bytes));
  BANYAN_ASSIGN_OR_RETURN(matrix.checksums,
                          ChecksumsAt(at.At("checksums"), matrix.extents()));
  BANYAN_ASSIGN_OR_RETURN(const std::vector<JsonAt> parts,
                          at.At("parts").Items());
  std::int64_t below = 0;
  for (const JsonAt& each : parts) {
    PackPart part;
    BANYAN_ASSIGN_OR_RETURN(part.tensor, each.At("tensor").String());
    BANYAN_ASSIGN_OR_RETURN(const std::int64_t first,
                            Whole(each.At("first"), 0, kMostRows));
    BANYAN_ASSIGN_OR_RETURN(const std::int64_t some,
                            Whole(each.At("rows"), 1, rows - below));
    part.first = static_cast<int>(first);
    part.rows = static_cast<int>(some);
    below += some;
    matrix.parts.push_back(std::move(part));
  }
  if (below != rows)
    return at.At("parts").Error(
        absl::StrCat("expected ", rows, " rows in all, found ", below));
  return matrix;
}

absl::StatusOr<PackVector> VectorAt(const JsonAt& at, std::int64_t data_bytes) {
  PackVector vector;
  BANYAN_ASSIGN_OR_RETURN(vector.tensor, at.At("tensor").String());
  BANYAN_ASSIGN_OR_RETURN(const std::int64_t offset,
                          Whole(at.At("offset"), 0, data_bytes));
  vector.offset = static_cast<std::uint64_t>(offset);
  constexpr std::int64_t kBytes = sizeof(float);
  BANYAN_ASSIGN_OR_RETURN(
      const std::int64_t numbers,
      Whole(at.At("numbers"), 1, (data_bytes - offset) / kBytes));
  vector.numbers = static_cast<std::uint64_t>(numbers);
  BANYAN_ASSIGN_OR_RETURN(const std::vector<std::uint32_t> sums,
                          ChecksumsAt(at.At("checksum"), 1));
  vector.checksum = sums.front();
  return vector;
}

absl::StatusOr<PackTensor> TensorAt(const JsonAt& at) {
  PackTensor tensor;
  BANYAN_ASSIGN_OR_RETURN(const std::vector<JsonAt> sizes,
                          at.At("shape").Items());
  for (const JsonAt& size : sizes) {
    BANYAN_ASSIGN_OR_RETURN(const std::int64_t number,
                            Whole(size, 0, kMostRows));
    tensor.shape.push_back(number);
  }
  BANYAN_ASSIGN_OR_RETURN(tensor.turned, at.At("turned").Bool());
  return tensor;
}

// That each begins after the one before.
absl::Status CheckOrder(const PackHeader& header) {
  std::uint64_t before = 0;
  const auto check = [&before](std::uint64_t offset, std::uint64_t end,
                               const std::string& name) {
    if (offset < before)
      return absl::InvalidArgumentError(absl::StrCat(
          name, ": expected an offset from ", before, " on, found ", offset));
    before = end;
    return absl::OkStatus();
  };
  for (const PackVector& vector : header.vectors)
    BANYAN_RETURN_IF_ERROR(check(vector.offset, vector.end(), vector.tensor));
  for (const PackMatrix& matrix : header.matrices)
    BANYAN_RETURN_IF_ERROR(
        check(matrix.offset, matrix.end(), matrix.parts.front().tensor));
  return absl::OkStatus();
}

absl::StatusOr<PackHeader> ReadHeader(absl::string_view text,
                                      std::int64_t data_bytes,
                                      const std::string& file_name) {
  BANYAN_ASSIGN_OR_RETURN(const JsonTree tree,
                          JsonTree::Parse(text, file_name));
  const JsonAt root = tree.root();
  PackHeader header;
  BANYAN_ASSIGN_OR_RETURN(header.format, FormatAt(root.At("format"), false));
  BANYAN_ASSIGN_OR_RETURN(header.source, root.At("source").String());
  BANYAN_ASSIGN_OR_RETURN(header.source_format,
                          root.At("source_format").String());
  BANYAN_RETURN_IF_ERROR(root.At("texts").ForEachKey(
      [&](const std::string& name, const JsonAt& at) -> absl::Status {
        BANYAN_ASSIGN_OR_RETURN(header.texts[name], at.String());
        return absl::OkStatus();
      }));
  BANYAN_RETURN_IF_ERROR(root.At("tensors").ForEachKey(
      [&](const std::string& name, const JsonAt& at) -> absl::Status {
        BANYAN_ASSIGN_OR_RETURN(header.tensors[name], TensorAt(at));
        return absl::OkStatus();
      }));
  BANYAN_ASSIGN_OR_RETURN(const std::vector<JsonAt> vectors,
                          root.At("vectors").Items());
  for (const JsonAt& at : vectors) {
    BANYAN_ASSIGN_OR_RETURN(PackVector vector, VectorAt(at, data_bytes));
    header.vectors.push_back(std::move(vector));
  }
  BANYAN_ASSIGN_OR_RETURN(const std::vector<JsonAt> matrices,
                          root.At("matrices").Items());
  for (const JsonAt& at : matrices) {
    BANYAN_ASSIGN_OR_RETURN(PackMatrix matrix, MatrixAt(at, data_bytes));
    header.matrices.push_back(std::move(matrix));
  }
  return header;
}

// The header's text, of a file's first bytes.
absl::StatusOr<absl::string_view> HeaderText(absl::Span<const std::byte> file) {
  const absl::string_view all(reinterpret_cast<const char*>(file.data()),
                              file.size());
  if (file.size() < kFixedBytes || !absl::StartsWith(all, kMagic))
    return absl::InvalidArgumentError(
        "expected a file that `banyan pack` wrote (BANYANPK at its beginning)");
  const auto version = NumberAt<std::uint32_t>(file, 8);
  if (version != kVersion)
    return absl::InvalidArgumentError(
        absl::StrCat("expected version ", kVersion, " of packed models, found ",
                     version, ": pack the model again"));
  const auto size = NumberAt<std::uint64_t>(file, 16);
  if (size >
      std::min<std::uint64_t>(file.size() - kFixedBytes, kMostHeaderBytes))
    return absl::InvalidArgumentError(
        absl::StrCat("expected a header of ", size, " bytes, found a file of ",
                     file.size()));
  const absl::string_view text =
      all.substr(kFixedBytes, static_cast<std::size_t>(size));
  if (Crc32(BytesOf(text)) != NumberAt<std::uint32_t>(file, 12))
    return absl::InvalidArgumentError(
        "the header does not have its checksum: the file was damaged");
  return text;
}

}  // namespace

std::size_t PackMatrix::extents() const {
  return (PanelCount(rows) + panels - 1) / panels;
}

std::size_t PackMatrix::ExtentBytes(std::size_t extent) const {
  return std::min(panels, PanelCount(rows) - extent * panels) *
         PanelBytes(format, columns);
}

std::uint64_t PackMatrix::ExtentOffset(std::size_t extent) const {
  return offset + extent * PackAligned(panels * PanelBytes(format, columns));
}

std::uint64_t PackMatrix::end() const {
  return ExtentOffset(extents() - 1) + PackAligned(ExtentBytes(extents() - 1));
}

std::size_t PanelsInExtent(WeightFormat format, int columns) {
  const std::size_t bytes = PanelBytes(format, columns);
  const std::size_t most = std::max<std::size_t>(kPackExtent / bytes, 1);
  const std::size_t whole = kPackAlignment / std::gcd(bytes, kPackAlignment);
  return most < whole ? most : most / whole * whole;
}

std::string PackPreamble(const PackHeader& header) {
  const std::string text = HeaderJson(header).Text();
  std::string out(kMagic);
  AppendNumber(kVersion, out);
  AppendNumber(Crc32(BytesOf(text)), out);
  AppendNumber(static_cast<std::uint64_t>(text.size()), out);
  return out + text;
}

absl::StatusOr<PackHeader> ParsePack(absl::Span<const std::byte> file,
                                     const std::string& file_name) {
  const absl::StatusOr<absl::string_view> text = HeaderText(file);
  if (!text.ok())
    return absl::InvalidArgumentError(
        absl::StrCat(file_name, ": ", text.status().message()));
  const std::uint64_t begin = PackAligned(kFixedBytes + text->size());
  BANYAN_ASSIGN_OR_RETURN(
      PackHeader header,
      ReadHeader(*text,
                 static_cast<std::int64_t>(file.size()) -
                     static_cast<std::int64_t>(
                         std::min<std::uint64_t>(begin, file.size())),
                 file_name));
  header.data_begin = begin;
  for (const absl::Status& status : {CheckOrder(header), CheckTensors(header)})
    if (!status.ok())
      return absl::InvalidArgumentError(
          absl::StrCat(file_name, ": ", status.message()));
  return header;
}

absl::StatusOr<PackHeader> ReadPackHeader(const std::string& path) {
  BANYAN_ASSIGN_OR_RETURN(const std::unique_ptr<MappedFile> file,
                          MappedFile::Open(path));
  absl::StatusOr<PackHeader> header = ParsePack(file->bytes(), path);
  BANYAN_RETURN_IF_ERROR(file->CheckLength());
  return header;
}

bool IsPack(absl::string_view path) { return absl::EndsWith(path, ".pack"); }

namespace {

struct Rows {
  std::int64_t first = 0;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

// The parts of one tensor that the vectors and matrices hold.
struct Held {
  std::vector<std::int64_t> vectors = {};  // numbers of each
  std::vector<Rows> rows = {};
};

std::string ShapeOf(const PackTensor& tensor) {
  return absl::StrCat("shape [", absl::StrJoin(tensor.shape, ", "), "]",
                      tensor.turned ? " turned" : "");
}

absl::Status CheckVector(const PackTensor& tensor, const Held& held) {
  if (tensor.turned && tensor.shape.size() != 2)
    return absl::InvalidArgumentError(absl::StrCat(
        "expected a matrix where it is turned, found ", ShapeOf(tensor)));
  if (tensor.shape.size() == 1 && held.vectors == tensor.shape)
    return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "expected ", ShapeOf(tensor), " as one vector, or as rows of matrices",
      ", found ", held.vectors.empty() ? "neither" : "vectors of ",
      absl::StrJoin(held.vectors, " and ")));
}

absl::Status CheckMatrix(const PackTensor& tensor, Held held) {
  if (tensor.shape.size() != 2 || !held.vectors.empty())
    return absl::InvalidArgumentError(absl::StrCat(
        "expected ", ShapeOf(tensor), " as one vector, found ",
        held.vectors.empty() ? "" : "that and ", "rows of matrices"));
  const std::int64_t rows = tensor.shape[tensor.turned ? 1 : 0];
  const std::int64_t columns = tensor.shape[tensor.turned ? 0 : 1];
  std::sort(held.rows.begin(), held.rows.end(),
            [](const Rows& a, const Rows& b) { return a.first < b.first; });
  // A sentinel at the end, so that missing last rows are found.
  held.rows.push_back({.first = rows, .rows = 0, .columns = columns});
  std::int64_t next = 0;
  for (const Rows& some : held.rows) {
    if (some.columns != columns)
      return absl::InvalidArgumentError(
          absl::StrCat("expected rows of ", columns, " numbers (",
                       ShapeOf(tensor), "), found ", some.columns));
    if (some.first + some.rows > rows)
      return absl::InvalidArgumentError(
          absl::StrCat("expected rows below ", rows, " (", ShapeOf(tensor),
                       "), found row ", some.first + some.rows - 1));
    if (some.first != next)
      return absl::InvalidArgumentError(
          absl::StrCat("expected each of its ", rows, " rows once, found row ",
                       some.first > next ? absl::StrCat(next, " nowhere")
                                         : absl::StrCat(some.first, " twice")));
    next += some.rows;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckTensors(const PackHeader& header) {
  std::map<std::string, Held> held;
  for (const auto& [name, tensor] : header.tensors) held[name];
  for (const PackVector& vector : header.vectors)
    held[vector.tensor].vectors.push_back(
        static_cast<std::int64_t>(vector.numbers));
  for (const PackMatrix& matrix : header.matrices)
    for (const PackPart& part : matrix.parts)
      held[part.tensor].rows.push_back({part.first, part.rows, matrix.columns});
  for (const auto& [name, of] : held) {
    const auto tensor = header.tensors.find(name);
    absl::Status status =
        tensor == header.tensors.end()
            ? absl::InvalidArgumentError("expected its shape, found none")
        : of.rows.empty() ? CheckVector(tensor->second, of)
                          : CheckMatrix(tensor->second, of);
    if (!status.ok())
      return absl::InvalidArgumentError(
          absl::StrCat("tensor ", QuotedName(name), ": ", status.message()));
  }
  return absl::OkStatus();
}

}  // namespace banyan
