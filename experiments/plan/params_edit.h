// Params put together: presets with overrides, settings by path.
#ifndef BANYAN_EXPERIMENTS_PLAN_PARAMS_EDIT_H_
#define BANYAN_EXPERIMENTS_PLAN_PARAMS_EDIT_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/params.h"

namespace banyan {

// `base` with `over` laid upon it: maps are merged key by key, anything else is
// replaced, as are costs (read_costs.h) and a map whose `name` is another: the
// keys of a chain are not those of a tree. Every value keeps the place where it
// was written.
Params Overlay(const Params& base, const Params& over);

// The part of a path that stands for every key of a map.
inline constexpr absl::string_view kEveryKey = "*";

// `root` with the value at a path such as "policy.nodes" or "drafters.0.name"
// replaced, or added where a map has no such key; a key that is there may have
// dots in it. "methods.*.nodes" is that of every method that is not null. An
// error, at `value`, if the path is empty somewhere, goes through a scalar, or
// names an item that a list does not have.
absl::StatusOr<Params> WithValue(const Params& root, absl::string_view path,
                                 const Params& value);

// A map with this entry in the place of the one of its key, or as the last one.
Params With(const Params& map, Params::Entry entry);

// Without this key of a map.
Params Without(const Params& map, absl::string_view key);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_PLAN_PARAMS_EDIT_H_
