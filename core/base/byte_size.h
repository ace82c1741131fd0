// Sizes of memory as people write them.
#ifndef BANYAN_CORE_BASE_BYTE_SIZE_H_
#define BANYAN_CORE_BASE_BYTE_SIZE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace banyan {

// "600 MB", "1.5GB", "2 GiB" or a number of bytes, at least 1. InvalidArgument
// otherwise, "expected a size such as 600MB or 1.5GB, found 'x'".
absl::StatusOr<std::uint64_t> ParseByteSize(absl::string_view text);

}  // namespace banyan

#endif  // BANYAN_CORE_BASE_BYTE_SIZE_H_
