// Params as YAML.
#ifndef BANYAN_CONFIGS_LOADER_WRITER_H_
#define BANYAN_CONFIGS_LOADER_WRITER_H_

#include <string>

#include "core/base/params.h"

namespace banyan {

// What the loader reads back to the same values: in block style, a line a
// scalar, but for lists of scalars, which are one.
std::string ToYaml(const Params& value);

}  // namespace banyan

#endif  // BANYAN_CONFIGS_LOADER_WRITER_H_
