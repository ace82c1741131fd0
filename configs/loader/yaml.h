// YAML into Params; the only door through which YAML enters.
//
// What is read is the plain part of YAML 1.2: one document of maps, lists and
// scalars. Every value and key carries its file, line and column (a column
// counts bytes, from 1). `null`, `~` and nothing at all are Kind::kNull if
// unquoted; every other scalar is its text, and a component's own Convert
// decides what it means. An alias becomes a copy of the anchored value, which
// keeps the place where it was written. In a file, `!include PATH` stands for
// the configuration in another one, relative to this one's folder, which may
// not include further ones; its values keep the places they have there.
//
// Refused, each as an InvalidArgument error "file:line:column: message":
//   a key given twice in one map (both places are named); a key that is no
//   text, or an alias, or anchored; an empty file; a second document; a
//   directive (%YAML); any other tag (!!python/tuple, !!str); an undefined
//   alias, or one inside its own anchor; more than 64 levels of lists and maps;
//   more than 1,000,000 values and keys, with those copied for aliases (64
//   bytes of a long text count as one more); more than 16 MiB; bytes that are
//   not UTF-8, control characters, and line ends that yaml-cpp would read
//   differently from an editor.
//
// No exception leaves these functions. They may run concurrently.
//
// Params are written as YAML too, which reads as the same Params.
#ifndef BANYAN_CONFIGS_LOADER_YAML_H_
#define BANYAN_CONFIGS_LOADER_YAML_H_

#include <string>

#include "core/base/common.h"
#include "core/base/params.h"

namespace banyan {

// The configuration in the file at `path`, which also names it in messages. A
// missing file is a NotFound error "path: reason"; one that cannot be read, or
// a directory, an InvalidArgument error of the same form.
absl::StatusOr<Params> LoadYamlFile(const std::string& path);

// The configuration in `text`; `file_name` names it in messages.
absl::StatusOr<Params> ParseYaml(absl::string_view text,
                                 const std::string& file_name);

// Params as YAML.

// What the loader reads back to the same values: in block style, a line a
// scalar, but for lists of scalars, which are one.
std::string ToYaml(const Params& value);

}  // namespace banyan

#endif  // BANYAN_CONFIGS_LOADER_YAML_H_
