// What a safetensors file holds.
//
// The file: eight bytes, the little-endian length of the header; the header, a
// JSON object that gives each tensor's `dtype`, `shape` and `data_offsets`;
// then the tensors' bytes. Opening reads the header only. Refused are: a header
// longer than the file or than 100,000,000 bytes, a repeated name or field, an
// unknown dtype or field, offsets that disagree with the shape, holes,
// overlaps, and bytes that belong to no tensor. The file's writer chooses
// where the bytes begin, so that no tensor is aligned: copy, do not cast.
#ifndef BANYAN_CORE_CHECKPOINT_SAFETENSORS_H_
#define BANYAN_CORE_CHECKPOINT_SAFETENSORS_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/checkpoint/stored_tensor.h"

namespace banyan {

// The tensors of a whole file that lies in memory; their data points into
// `file`. An error is InvalidArgument, "FILE_NAME: tensor 'x': what is wrong".
absl::StatusOr<StoredTensors> ParseSafetensors(absl::Span<const std::byte> file,
                                               const std::string& file_name);

}  // namespace banyan

#endif  // BANYAN_CORE_CHECKPOINT_SAFETENSORS_H_
