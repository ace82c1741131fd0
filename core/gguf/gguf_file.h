// A GGUF file, version 3: what it says of a model, and the model's tensors.
//
// The file: "GGUF", the version, two counts; that many keys, each with a typed
// value; that many tensors, each with name, sizes (the fastest first), type and
// the place of its data; then the data. All numbers are little-endian. Opening
// reads all but the data. Refused are, by name and place: another version,
// counts and sizes beyond the file, a key or tensor that comes twice, a type of
// tensor that nothing here reads, data that overlap, lie beyond the file or are
// not aligned, and one part of a split model.
#ifndef BANYAN_CORE_GGUF_GGUF_FILE_H_
#define BANYAN_CORE_GGUF_GGUF_FILE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "core/base/common.h"
#include "core/base/number_rows.h"

namespace banyan {

// A list, as the file has it: read it with GgufTexts or GgufNumbers.
struct GgufList {
  std::uint32_t type = 0;  // of the items
  std::uint64_t count = 0;
  absl::Span<const std::byte> items;
};

using GgufValue =
    std::variant<bool, std::int64_t, double, absl::string_view, GgufList>;

struct GgufTensor {
  DType dtype = DType::kF32;
  std::vector<std::int64_t> shape;   // row-major: the fastest last
  absl::Span<const std::byte> data;  // aligned to nothing
};

struct Gguf {
  std::map<std::string, GgufValue, std::less<>> keys;
  std::map<std::string, GgufTensor, std::less<>> tensors;
};

// A whole file that lies in memory; what it gives points into `file`. An error
// is InvalidArgument, "FILE_NAME: what is wrong".
absl::StatusOr<Gguf> ParseGguf(absl::Span<const std::byte> file,
                               const std::string& file_name);

// The items of a list of texts; none if it is a list of something else.
std::vector<absl::string_view> GgufTexts(const GgufList& list);
// The items of a list of numbers, likewise.
std::vector<double> GgufNumbers(const GgufList& list);

// Whether a model's path names such a file: by its ending, ".gguf".
bool IsGguf(absl::string_view path);

}  // namespace banyan

#endif  // BANYAN_CORE_GGUF_GGUF_FILE_H_
