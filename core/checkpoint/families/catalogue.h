// The model families, by the name that config.json has under `model_type`.
#ifndef BANYAN_CORE_CHECKPOINT_FAMILIES_CATALOGUE_H_
#define BANYAN_CORE_CHECKPOINT_FAMILIES_CATALOGUE_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/checkpoint/architecture.h"
#include "core/checkpoint/config_reader.h"
#include "core/checkpoint/families/common.h"

namespace banyan {

struct FamilyRow {
  absl::string_view name;
  absl::string_view sentence;
  // Reads config.json. Errors are noted in `in`; without one the result is
  // complete, every size is from 1 to ConfigReader::kMaxSize, and every weight
  // is described. Which tensors there are decides only between spellings of
  // their names, and whether a tied pair is stored once or twice.
  Architecture (*read)(ConfigReader& in, HasTensor has_tensor);
};

absl::Span<const FamilyRow> FamilyCatalogue();

// Returns what the config.json in `in` describes, by the family that its
// model_type names. Ignores `dtype` and `torch_dtype`: each tensor has a type
// of its own.
absl::StatusOr<Architecture> ReadArchitecture(ConfigReader& in,
                                              HasTensor has_tensor);

}  // namespace banyan

#endif  // BANYAN_CORE_CHECKPOINT_FAMILIES_CATALOGUE_H_
