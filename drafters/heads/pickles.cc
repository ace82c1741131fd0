#include "drafters/heads/pickles.h"

#include <filesystem>
#include <set>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace banyan {

std::string PickleIn(const std::string& directory) {
  namespace fs = std::filesystem;
  std::set<std::string> pickles;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end;
       it.increment(error)) {
    const fs::path& path = it->path();
    if (path.extension() == ".bin" || path.extension() == ".pt")
      pickles.insert(path.string());
  }
  if (pickles.empty()) return "";
  return absl::StrCat("a pickle: scripts/train convert ", *pickles.begin(),
                      " --out DIR makes them of it");
}

}  // namespace banyan
