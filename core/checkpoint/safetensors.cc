#include "core/checkpoint/safetensors.h"

#include <algorithm>
#include <array>
#include <limits>
#include <tuple>
#include <variant>

#include "absl/memory/memory.h"
#include "core/base/check.h"
#include "core/base/messages.h"
#include "core/json/json_value.h"

namespace banyan {

namespace {

constexpr std::size_t kLengthBytes = 8;
// The format's own limit, against files made to exhaust a reader.
constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;
constexpr std::int64_t kMaxNumber = std::numeric_limits<std::int64_t>::max();

// product * factor, or -1 if that is above `limit`. None is negative.
std::int64_t Times(std::int64_t product, std::int64_t factor,
                   std::int64_t limit) {
  if (factor != 0 && product > limit / factor) return -1;
  return product * factor;
}

// Checks one tensor's offsets against its shape and the bytes there are.
absl::Status CheckSize(const SafetensorsHeader::Entry& entry,
                       std::int64_t data_bytes) {
  const std::int64_t begin = entry.offsets[0];
  const std::int64_t end = entry.offsets[1];
  if (begin > end || end > data_bytes)
    return absl::InvalidArgumentError(
        absl::StrCat("expected data_offsets in order and up to ", data_bytes,
                     ", found ", ShapeText(entry.offsets)));
  std::int64_t bytes = DTypeBytes(entry.dtype);
  for (const std::int64_t size : entry.shape) {
    bytes = Times(bytes, size, kMaxNumber);
    if (bytes < 0) break;
  }
  if (bytes == end - begin) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      DTypeName(entry.dtype), " of shape ", ShapeText(entry.shape),
      bytes < 0 ? " has too many elements"
                : absl::StrCat(" has ", bytes, " bytes"),
      ", its data_offsets ", ShapeText(entry.offsets), " say ", end - begin));
}

// Checks that the tensors cover [0, data_bytes) once. A fault is told of the
// tensor at which it shows.
absl::Status CheckLayout(const SafetensorsHeader& header,
                         std::int64_t data_bytes) {
  std::vector<std::tuple<std::int64_t, std::int64_t, absl::string_view>> spans;
  for (const auto& [name, entry] : header.entries()) {
    const absl::Status status = CheckSize(entry, data_bytes);
    if (!status.ok())
      return absl::InvalidArgumentError(
          absl::StrCat("tensor ", QuotedName(name), ": ", status.message()));
    spans.emplace_back(entry.offsets[0], entry.offsets[1], name);
  }
  std::sort(spans.begin(), spans.end());
  std::int64_t covered = 0;
  for (const auto& [begin, end, name] : spans) {
    if (begin != covered)
      return absl::InvalidArgumentError(absl::StrCat(
          "tensor ", QuotedName(name), ": expected its bytes to begin where ",
          "others end, at ", covered, ", found ", begin));
    covered = end;
  }
  if (covered == data_bytes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the tensors end at byte ", covered,
                   " of the data, the file at byte ", data_bytes));
}

// The header's text.
absl::StatusOr<absl::string_view> HeaderText(absl::Span<const std::byte> file) {
  if (file.size() < kLengthBytes)
    return absl::InvalidArgumentError(absl::StrCat(
        "expected at least ", kLengthBytes, " bytes, found ", file.size()));
  std::uint64_t length = 0;
  for (std::size_t i = kLengthBytes; i-- > 0;)
    length = length << 8 | std::to_integer<std::uint64_t>(file[i]);
  const std::uint64_t rest = file.size() - kLengthBytes;
  if (length > std::min(rest, kMaxHeaderBytes))
    return absl::InvalidArgumentError(absl::StrCat(
        "expected a header of at most ", std::min(rest, kMaxHeaderBytes),
        " bytes, found one of ", length));
  const absl::string_view text(
      reinterpret_cast<const char*>(file.data()) + kLengthBytes,
      static_cast<std::size_t>(length));
  if (!absl::StartsWith(text, "{"))
    return absl::InvalidArgumentError("expected a header that begins with {");
  return text;
}

absl::StatusOr<StoredTensors> Parse(absl::Span<const std::byte> file) {
  BANYAN_ASSIGN_OR_RETURN(const absl::string_view text, HeaderText(file));
  SafetensorsHeader header(text);
  BANYAN_RETURN_IF_ERROR(header.Read());
  const absl::Span<const std::byte> data =
      file.subspan(kLengthBytes + text.size());
  BANYAN_RETURN_IF_ERROR(
      CheckLayout(header, static_cast<std::int64_t>(data.size())));
  StoredTensors tensors;
  for (const auto& [name, entry] : header.entries()) {
    const auto begin = static_cast<std::size_t>(entry.offsets[0]);
    const auto end = static_cast<std::size_t>(entry.offsets[1]);
    tensors.emplace_hint(tensors.end(), name,
                         StoredTensor{entry.dtype, entry.shape,
                                      data.subspan(begin, end - begin)});
  }
  return tensors;
}

}  // namespace

absl::StatusOr<StoredTensors> ParseSafetensors(absl::Span<const std::byte> file,
                                               const std::string& file_name) {
  absl::StatusOr<StoredTensors> tensors = Parse(file);
  if (tensors.ok()) return tensors;
  return absl::InvalidArgumentError(
      absl::StrCat(file_name, ": ", tensors.status().message()));
}

std::string SafetensorsHeader::Place() const {
  switch (inside_) {
    case Inside::kFile:
      return "header: ";
    case Inside::kHeader:
      return absl::StrCat("header: ", QuotedName(name_), ": ");
    case Inside::kMetadata:
      return absl::StrCat("__metadata__: ", QuotedName(field_), ": ");
    case Inside::kTensor:
    case Inside::kNumbers:
      break;
  }
  return absl::StrCat("tensor ", QuotedName(name_), ": ",
                      field_.empty() ? "" : QuotedName(field_) + ": ");
}

absl::Status SafetensorsHeader::Error(absl::string_view what) const {
  return absl::InvalidArgumentError(absl::StrCat(Place(), what));
}

absl::Status SafetensorsHeader::Unexpected(absl::string_view found) const {
  absl::string_view expected = "an object of tensors";
  if (inside_ == Inside::kHeader)
    expected = entry_ == nullptr ? "an object of texts"
                                 : "an object of dtype, shape and data_offsets";
  else if (inside_ == Inside::kNumbers)
    expected = "numbers below 2^63";
  else if (inside_ == Inside::kMetadata)
    expected = "a text";
  else if (inside_ == Inside::kTensor)
    expected = field_ == "dtype" ? "the name of a type" : "a list of numbers";
  return Error(absl::StrCat("expected ", expected, ", found ", found));
}

absl::Status SafetensorsHeader::OnScalar(JsonScalar value) {
  constexpr std::size_t kShown = 40;
  const auto* text = std::get_if<std::string>(&value);
  if (inside_ == Inside::kMetadata && text != nullptr) return absl::OkStatus();
  if (inside_ == Inside::kTensor && text != nullptr && field_ == "dtype") {
    const absl::StatusOr<DType> dtype = DTypeNamed(*text);
    if (!dtype.ok()) return Error(dtype.status().message());
    entry_->dtype = *dtype;
    return absl::OkStatus();
  }
  const auto* number = std::get_if<std::uint64_t>(&value);
  if (inside_ == Inside::kNumbers && number != nullptr &&
      *number <= std::uint64_t{kMaxNumber}) {
    numbers_->push_back(static_cast<std::int64_t>(*number));
    return absl::OkStatus();
  }
  const absl::string_view kind = KindOf(value);
  return Unexpected(kind == "a number" ? reader_.token().substr(0, kShown)
                                       : kind);
}

absl::Status SafetensorsHeader::OnList() {
  if (inside_ != Inside::kTensor || field_ == "dtype")
    return Unexpected("a list");
  inside_ = Inside::kNumbers;
  numbers_ = field_ == "shape" ? &entry_->shape : &entry_->offsets;
  return absl::OkStatus();
}

absl::Status SafetensorsHeader::OnListEnd() {
  if (field_ == "data_offsets" && numbers_->size() != 2)
    return Error(absl::StrCat("expected a begin and an end, found ",
                              numbers_->size(), " numbers"));
  inside_ = Inside::kTensor;
  return absl::OkStatus();
}

absl::Status SafetensorsHeader::OnObject() {
  if (inside_ == Inside::kFile) {
    inside_ = Inside::kHeader;
    return absl::OkStatus();
  }
  if (inside_ != Inside::kHeader) return Unexpected("an object");
  inside_ = entry_ == nullptr ? Inside::kMetadata : Inside::kTensor;
  fields_ = 0;
  field_.clear();
  return absl::OkStatus();
}

absl::Status SafetensorsHeader::OnObjectEnd() {
  field_.clear();
  if (inside_ == Inside::kTensor && fields_ != 3)
    return Error("expected dtype, shape and data_offsets");
  inside_ = inside_ == Inside::kHeader ? Inside::kFile : Inside::kHeader;
  return absl::OkStatus();
}

absl::Status SafetensorsHeader::OnKey(std::string key) {
  if (inside_ == Inside::kHeader) {
    name_ = std::move(key);
    entry_ = name_ == "__metadata__" ? nullptr : &entries_[name_];
    return absl::OkStatus();
  }
  field_ = std::move(key);
  ++fields_;
  if (inside_ == Inside::kTensor && field_ != "dtype" && field_ != "shape" &&
      field_ != "data_offsets")
    return Error("expected dtype, shape or data_offsets");
  return absl::OkStatus();
}

namespace {

// Where the numbers begin: the format leaves it to the writer, and numbers of
// eight bytes are then aligned in a mapped file.
constexpr std::size_t kAlignment = 8;

// Its text begins with `{` and ends with spaces.
std::string Header(const std::vector<TensorEntry>& tensors) {
  JsonValue header;
  header["__metadata__"] = {{"format", "pt"}};  // other readers insist on it
  std::int64_t end = 0;
  for (const TensorEntry& tensor : tensors) {
    JsonValue& entry = header[tensor.name];
    Check(entry.is_null(), "the names differ");
    const std::int64_t begin = end;
    end += tensor.bytes();
    entry = {{"dtype", DTypeName(tensor.dtype)},
             {"shape", tensor.shape},
             {"data_offsets", std::vector<std::int64_t>{begin, end}}};
  }
  std::string text = header.Text();
  text.resize((text.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');
  return text;
}

}  // namespace

std::int64_t TensorEntry::bytes() const {
  std::int64_t total = DTypeBytes(dtype);
  for (std::int64_t size : shape) total *= size;
  return total;
}

absl::StatusOr<std::unique_ptr<SafetensorsWriter>> SafetensorsWriter::Create(
    const std::string& path, const std::vector<TensorEntry>& tensors) {
  const std::string text = Header(tensors);
  std::int64_t bytes = 0;
  for (const TensorEntry& tensor : tensors) bytes += tensor.bytes();
  BANYAN_ASSIGN_OR_RETURN(std::unique_ptr<OutputFile> file,
                          OutputFile::Open(path));
  std::array<std::byte, 8> length;
  for (std::size_t i = 0; i < length.size(); ++i)
    length[i] = static_cast<std::byte>(text.size() >> 8 * i);
  BANYAN_RETURN_IF_ERROR(file->Append(length));
  BANYAN_RETURN_IF_ERROR(file->Append(text));
  return absl::WrapUnique(new SafetensorsWriter(std::move(file), bytes));
}

absl::Status SafetensorsWriter::Append(absl::Span<const std::byte> bytes) {
  Check(bytes.size() <= static_cast<std::size_t>(left_),
        "no more bytes than the header says");
  left_ -= static_cast<std::int64_t>(bytes.size());
  return file_->Append(bytes);
}

absl::Status SafetensorsWriter::Finish() {
  Check(left_ == 0, "all bytes have been appended");
  return file_->Finish();
}

}  // namespace banyan
