// Reading a whole file, with the reason when it cannot be read.
#ifndef BANYAN_CORE_BASE_READ_FILE_H_
#define BANYAN_CORE_BASE_READ_FILE_H_

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <string>
#include <system_error>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace banyan {

// The bytes of the file at `path`. Fails with NotFound ("path: No such file or
// directory") if there is none, and with InvalidArgument if it cannot be read
// (a directory, no permission) or holds more than `max_bytes`; never reads much
// more than that, so an endless file is refused too.
inline absl::StatusOr<std::string> ReadFile(const std::string& path,
                                            std::size_t max_bytes) {
  constexpr std::size_t kChunk = std::size_t{1} << 16;
  const auto error = [&path](int code) {
    const std::string message =
        absl::StrCat(path, ": ", std::generic_category().message(code));
    return code == ENOENT ? absl::NotFoundError(message)
                          : absl::InvalidArgumentError(message);
  };
  const auto close = [](std::FILE* file) { std::fclose(file); };
  const std::unique_ptr<std::FILE, decltype(close)> file(
      std::fopen(path.c_str(), "rb"), close);
  if (file == nullptr) return error(errno);
  std::string text;
  std::size_t got = kChunk;
  while (got == kChunk && text.size() <= max_bytes) {
    const std::size_t had = text.size();
    text.resize(had + kChunk);
    got = std::fread(text.data() + had, 1, kChunk, file.get());
    text.resize(had + got);
  }
  if (std::ferror(file.get()) != 0) return error(errno);
  if (text.size() > max_bytes)
    return absl::InvalidArgumentError(absl::StrCat(
        path, ":1:1: the file is larger than ", max_bytes, " bytes"));
  return text;
}

}  // namespace banyan

#endif  // BANYAN_CORE_BASE_READ_FILE_H_
