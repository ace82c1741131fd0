#include "core/base/check.h"

#include <cstdio>
#include <cstdlib>
#include <source_location>

#include "absl/strings/string_view.h"

namespace banyan {

void CheckFailed(absl::string_view what, const std::source_location& where) {
  std::fprintf(stderr, "%s:%u: check failed: %.*s\n", where.file_name(),
               static_cast<unsigned>(where.line()),
               static_cast<int>(what.size()), what.data());
  std::abort();
}

}  // namespace banyan
