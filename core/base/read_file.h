// Reading a whole file, with the reason when it cannot be read.
#ifndef BANYAN_CORE_BASE_READ_FILE_H_
#define BANYAN_CORE_BASE_READ_FILE_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"

namespace banyan {

// The bytes of the file at `path`. Fails with NotFound ("path: No such file or
// directory") if there is none, and with InvalidArgument if it cannot be read
// (a directory, no permission), holds more than `max_bytes` or is no ordinary
// file: nobody may ever write into a pipe.
//
// A stream that the program was given is read to its end all the same:
// /dev/stdin, and /dev/fd/N, as which a shell hands over `<(command)`. Never
// reads much more than `max_bytes`, so an endless one is refused.
absl::StatusOr<std::string> ReadFile(const std::string& path,
                                     std::size_t max_bytes);

}  // namespace banyan

#endif  // BANYAN_CORE_BASE_READ_FILE_H_
