#include "core/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace banyan {

void CheckFailed(absl::string_view what, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: check failed: %.*s\n", file, line,
               static_cast<int>(what.size()), what.data());
  std::abort();
}

}  // namespace banyan
