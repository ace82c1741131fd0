#include "core/base/check.h"

#include <cstdio>
#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"

namespace banyan {
namespace {

void (*failure)(const char* message) = nullptr;

}  // namespace

void SetCheckFailure(void (*fail)(const char* message)) { failure = fail; }

void CheckFailed(absl::string_view what, const char* file, int line) {
  const std::string message =
      absl::StrCat(file, ":", line, ": check failed: ", what);
  if (failure != nullptr) failure(message.c_str());
  std::fprintf(stderr, "%s\n", message.c_str());
  std::abort();
}

}  // namespace banyan
