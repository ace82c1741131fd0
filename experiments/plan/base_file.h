// The base of an experiment: a file with target, models and methods that
// several experiments share.
#ifndef BANYAN_EXPERIMENTS_PLAN_BASE_FILE_H_
#define BANYAN_EXPERIMENTS_PLAN_BASE_FILE_H_

#include "absl/status/statusor.h"
#include "core/base/params.h"

namespace banyan {

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

#endif  // BANYAN_EXPERIMENTS_PLAN_BASE_FILE_H_
