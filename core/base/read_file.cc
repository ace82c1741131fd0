#include "core/base/read_file.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <string>
#include <system_error>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace banyan {
namespace {

bool IsGivenStream(absl::string_view path) {
  return path == "/dev/stdin" || absl::StartsWith(path, "/dev/fd/") ||
         absl::StartsWith(path, "/proc/self/fd/");
}

// What else can be read; of a directory reading says it itself.
absl::string_view KindOf(mode_t mode) {
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

}  // namespace

absl::StatusOr<std::string> ReadFile(const std::string& path,
                                     std::size_t max_bytes) {
  constexpr std::size_t kChunk = std::size_t{1} << 16;
  const auto error = [&path](int code) {
    const std::string message =
        absl::StrCat(path, ": ", std::generic_category().message(code));
    return code == ENOENT ? absl::NotFoundError(message)
                          : absl::InvalidArgumentError(message);
  };
  struct stat about = {};
  if (stat(path.c_str(), &about) != 0) return error(errno);
  if (!S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode) &&
      !IsGivenStream(path))
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": expected an ordinary file, found ", KindOf(about.st_mode)));
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
