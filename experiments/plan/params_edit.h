// Params put together: bases, presets with overrides, and settings by path.
#ifndef BANYAN_EXPERIMENTS_PLAN_PARAMS_EDIT_H_
#define BANYAN_EXPERIMENTS_PLAN_PARAMS_EDIT_H_

#include <string>

#include "core/base/common.h"
#include "core/base/params.h"

namespace banyan {

// Params put together: presets with overrides, settings by path.

// `base` with `over` laid upon it: maps are merged key by key, anything else is
// replaced, as are costs (costs.h) and a map whose `name` is another: the
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

// The base of an experiment: a file with target, models and methods that
// several experiments share.

// Its sections, upon those of its own base if it has one. Null: none.
struct BaseFile {
  Params target;
  Params models;
  Params methods;
};

// The file whose path is the value of `base`. Fails, with file and place, if it
// cannot be read, has another key or no target, or is a base of itself.
absl::StatusOr<BaseFile> ReadBaseFile(const Params& base);

// The experiment's methods upon those of the base, key by key; the base's come
// first. Null leaves a method of the base out, and is an error for another.
absl::StatusOr<Params> WithBaseMethods(const Params& file,
                                       const BaseFile& base);

// The experiment's target upon that of the base, and the base's models in the
// place of the methods' own of the same names.
absl::StatusOr<Params> WithBaseTarget(const Params& file, const BaseFile& base);

// Gives every method the models that its drafters name and it has not: those of
// the experiment, or else of the base. Changes nothing the second time.
absl::StatusOr<Params> WithSeenModels(const Params& file, const BaseFile& base);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_PLAN_PARAMS_EDIT_H_
