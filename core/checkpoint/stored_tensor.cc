#include "core/checkpoint/stored_tensor.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/base/dtype.h"
#include "core/base/panel.h"
#include "core/base/quoted_name.h"
#include "core/checkpoint/packed_data.h"

namespace banyan {

absl::StatusOr<DType> DTypeNamed(absl::string_view name) {
  std::vector<absl::string_view> known;
  for (int i = 0; i < kDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (DTypeBlock(dtype) != 1) continue;
    if (DTypeName(dtype) == name) return dtype;
    known.push_back(DTypeName(dtype));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unknown dtype ", QuotedName(name),
                   "; known: ", absl::StrJoin(known, ", ")));
}

absl::StatusOr<const std::byte*> PackedRows::Panel(int row) const {
  return data->Panel(*matrix,
                     static_cast<std::size_t>((at + row - first) / kPanelRows));
}

std::string ShapeText(absl::Span<const std::int64_t> shape) {
  return absl::StrCat("[", absl::StrJoin(shape, ", "), "]");
}

}  // namespace banyan
