// A tensor as a file stores it: the type of its elements, its shape and its
// bytes.
#ifndef BANYAN_CORE_CHECKPOINT_STORED_TENSOR_H_
#define BANYAN_CORE_CHECKPOINT_STORED_TENSOR_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace banyan {

// kF8E4M3 and kF8E5M2 are known by name and size only: nothing reads them.
enum class DType {
  kF64,
  kF32,
  kF16,
  kBf16,
  kI64,
  kI32,
  kI16,
  kI8,
  kU8,
  kBool,
  kF8E4M3,
  kF8E5M2,
};

// The name safetensors has for it: "BF16".
absl::string_view DTypeName(DType dtype);
// The bytes of one element.
std::int64_t DTypeBytes(DType dtype);
// The type so named. An unknown name is InvalidArgument, with the known ones.
absl::StatusOr<DType> DTypeNamed(absl::string_view name);

struct StoredTensor {
  DType dtype = DType::kF32;
  std::vector<std::int64_t> shape;   // row-major; empty: one number
  absl::Span<const std::byte> data;  // little-endian, aligned to nothing
};

// "[2, 3]".
std::string ShapeText(absl::Span<const std::int64_t> shape);

// A name from a file, for messages: in quotes, escaped, cut if it is long.
std::string QuotedName(absl::string_view name);

}  // namespace banyan

#endif  // BANYAN_CORE_CHECKPOINT_STORED_TENSOR_H_
