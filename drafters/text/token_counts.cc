#include "drafters/text/token_counts.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/base/dtype.h"
#include "core/base/quoted_name.h"
#include "core/base/status_macros.h"
#include "core/base/token.h"
#include "core/checkpoint/safetensors_writer.h"
#include "core/checkpoint/stored_tensor.h"
#include "core/checkpoint/tensor_file.h"

namespace banyan {
namespace {

static_assert(std::endian::native == std::endian::little,
              "stored numbers are little-endian and are copied as they are");

constexpr char kUnigram[] = "unigram";
constexpr char kOffsets[] = "bigram.offsets";
constexpr char kTokens[] = "bigram.tokens";
constexpr char kCounts[] = "bigram.counts";
constexpr std::array<absl::string_view, 4> kNames = {kUnigram, kOffsets,
                                                     kTokens, kCounts};

DType TypeOf(std::int64_t) { return DType::kI64; }
DType TypeOf(std::int32_t) { return DType::kI32; }

// Reads the tensors of one file and says what is wrong with them.
class Reader {
 public:
  explicit Reader(const TensorFile& file) : file_(file) {}

  absl::Status Error(absl::string_view tensor, absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat(
        file_.path(), ": tensor ", QuotedName(tensor), ": ", what));
  }

  absl::Status CheckNames() const {
    for (const auto& [name, tensor] : file_.tensors())
      if (std::find(kNames.begin(), kNames.end(), name) == kNames.end())
        return Error(name,
                     absl::StrCat("expected none but ",
                                  absl::StrJoin(kNames, ", "), ", found this"));
    return absl::OkStatus();
  }

  // The `size` numbers of a tensor; `why` says where that size comes from. A
  // negative size is any.
  template <typename T>
  absl::Status Read(absl::string_view name, std::int64_t size,
                    absl::string_view why, std::vector<T>& out) const {
    const StoredTensor* tensor = file_.Find(name);
    if (tensor == nullptr) return Error(name, "is missing");
    const bool fits = tensor->dtype == TypeOf(T{}) &&
                      tensor->shape.size() == 1 &&
                      (size < 0 || tensor->shape.front() == size);
    if (!fits)
      return Error(name,
                   absl::StrCat("expected ", DTypeName(TypeOf(T{})), " [",
                                size < 0 ? "any" : absl::StrCat(size), "]", why,
                                ", found ", DTypeName(tensor->dtype), " ",
                                ShapeText(tensor->shape)));
    out.resize(static_cast<std::size_t>(tensor->shape.front()));
    if (!out.empty())
      std::memcpy(out.data(), tensor->data.data(), tensor->data.size());
    return tensor->CheckWhole();
  }

 private:
  const TensorFile& file_;
};

// "entry 3 is -1, expected WHAT".
template <typename T>
std::string Entry(std::size_t index, T value, absl::string_view expected) {
  return absl::StrCat("entry ", index, " is ", value, ", expected ", expected);
}

absl::Status CheckUnigram(const TokenCounts& counts, const Reader& reader) {
  bool any = false;
  for (std::size_t i = 0; i < counts.unigram.size(); ++i) {
    if (counts.unigram[i] < 0)
      return reader.Error(kUnigram, Entry(i, counts.unigram[i], "at least 0"));
    any = any || counts.unigram[i] > 0;
  }
  if (any) return absl::OkStatus();
  return reader.Error(kUnigram,
                      "expected some token to be counted, found none");
}

absl::Status CheckOffsets(const TokenCounts& counts, const Reader& reader) {
  const std::vector<std::int64_t>& offsets = counts.offsets;
  if (offsets.front() != 0)
    return reader.Error(kOffsets, Entry(0, offsets.front(), "0"));
  for (std::size_t i = 1; i < offsets.size(); ++i)
    if (offsets[i] < offsets[i - 1])
      return reader.Error(kOffsets,
                          Entry(i, offsets[i],
                                absl::StrCat("at least ", offsets[i - 1],
                                             ", the entry before it")));
  const auto pairs = static_cast<std::int64_t>(counts.tokens.size());
  if (offsets.back() == pairs) return absl::OkStatus();
  return reader.Error(kOffsets,
                      Entry(offsets.size() - 1, offsets.back(),
                            absl::StrCat(pairs, ", the size of ", kTokens)));
}

// Requires valid offsets.
absl::Status CheckPairs(const TokenCounts& counts, const Reader& reader) {
  const auto vocab_size = static_cast<TokenId>(counts.unigram.size());
  for (std::size_t i = 0; i < counts.tokens.size(); ++i) {
    if (counts.tokens[i] < 0 || counts.tokens[i] >= vocab_size)
      return reader.Error(
          kTokens, Entry(i, counts.tokens[i],
                         absl::StrCat("a token from 0 to ", vocab_size - 1)));
    if (counts.counts[i] < 1)
      return reader.Error(kCounts, Entry(i, counts.counts[i], "at least 1"));
  }
  for (std::size_t t = 0; t + 1 < counts.offsets.size(); ++t) {
    const auto end = static_cast<std::size_t>(counts.offsets[t + 1]);
    for (auto i = static_cast<std::size_t>(counts.offsets[t]) + 1; i < end; ++i)
      if (counts.tokens[i] <= counts.tokens[i - 1])
        return reader.Error(
            kTokens,
            Entry(i, counts.tokens[i],
                  absl::StrCat("more than ", counts.tokens[i - 1],
                               ", the one before it in the row of token ", t)));
  }
  return absl::OkStatus();
}

template <typename T>
TensorEntry Header(const char* name, const std::vector<T>& numbers) {
  return {.name = name,
          .dtype = TypeOf(T{}),
          .shape = {static_cast<std::int64_t>(numbers.size())}};
}

template <typename T>
absl::Status Append(SafetensorsWriter& file, const std::vector<T>& numbers) {
  return file.Append(
      absl::MakeConstSpan(reinterpret_cast<const std::byte*>(numbers.data()),
                          numbers.size() * sizeof(T)));
}

}  // namespace

absl::StatusOr<TokenCounts> ReadTokenCounts(const std::string& path,
                                            int vocab_size) {
  BANYAN_ASSIGN_OR_RETURN(const std::unique_ptr<TensorFile> file,
                          TensorFile::Open(path));
  const Reader reader(*file);
  TokenCounts counts;
  BANYAN_RETURN_IF_ERROR(reader.CheckNames());
  BANYAN_RETURN_IF_ERROR(reader.Read(
      kUnigram, vocab_size, ", the target's vocabulary", counts.unigram));
  BANYAN_RETURN_IF_ERROR(reader.Read(kOffsets, std::int64_t{vocab_size} + 1,
                                     ", the vocabulary and 1", counts.offsets));
  BANYAN_RETURN_IF_ERROR(reader.Read(kTokens, -1, "", counts.tokens));
  BANYAN_RETURN_IF_ERROR(
      reader.Read(kCounts, static_cast<std::int64_t>(counts.tokens.size()),
                  absl::StrCat(", as ", kTokens), counts.counts));
  BANYAN_RETURN_IF_ERROR(CheckUnigram(counts, reader));
  BANYAN_RETURN_IF_ERROR(CheckOffsets(counts, reader));
  BANYAN_RETURN_IF_ERROR(CheckPairs(counts, reader));
  return counts;
}

absl::Status WriteTokenCounts(const std::string& path,
                              const TokenCounts& counts) {
  BANYAN_ASSIGN_OR_RETURN(
      const std::unique_ptr<SafetensorsWriter> file,
      SafetensorsWriter::Create(
          path,
          {Header(kUnigram, counts.unigram), Header(kOffsets, counts.offsets),
           Header(kTokens, counts.tokens), Header(kCounts, counts.counts)}));
  BANYAN_RETURN_IF_ERROR(Append(*file, counts.unigram));
  BANYAN_RETURN_IF_ERROR(Append(*file, counts.offsets));
  BANYAN_RETURN_IF_ERROR(Append(*file, counts.tokens));
  BANYAN_RETURN_IF_ERROR(Append(*file, counts.counts));
  return file->Finish();
}

}  // namespace banyan
