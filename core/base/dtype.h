// The types of numbers in a model's files.
#ifndef BANYAN_CORE_BASE_DTYPE_H_
#define BANYAN_CORE_BASE_DTYPE_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace banyan {

// From kQ4_0 on a type stores blocks, whose numbers share their scales; only
// GGUF files have them. kF8E4M3 and kF8E5M2 are known by name and size only:
// nothing reads them.
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
  kQ4_0,
  kQ4_1,
  kQ8_0,
  kQ4K,
  kQ5K,
  kQ6K,
};

inline constexpr int kDTypes = static_cast<int>(DType::kQ6K) + 1;

// "BF16", "Q4_K".
absl::string_view DTypeName(DType dtype);
// How many numbers are stored together: 1, or those of a block.
std::int64_t DTypeBlock(DType dtype);
// The bytes of a block.
std::int64_t DTypeBytes(DType dtype);

}  // namespace banyan

#endif  // BANYAN_CORE_BASE_DTYPE_H_
