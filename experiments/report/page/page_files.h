// The files of page/, as they were when the program was built.
#ifndef BANYAN_EXPERIMENTS_REPORT_PAGE_PAGE_FILES_H_
#define BANYAN_EXPERIMENTS_REPORT_PAGE_PAGE_FILES_H_

#include <optional>

#include "absl/strings/string_view.h"

namespace banyan {

// The contents of "page.html", "page.css" and so on; nothing for a name
// that is not listed in experiments/CMakeLists.txt. Defined in a source file
// that cmake/embed_files.cmake makes of them.
std::optional<absl::string_view> PageFile(absl::string_view name);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_REPORT_PAGE_PAGE_FILES_H_
