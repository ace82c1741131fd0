#include "drafters/assets.h"

#include <filesystem>
#include <string>
#include <system_error>
#include <typeindex>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace banyan {

Assets::Id Assets::IdOf(std::type_index type, const AssetKey& key) {
  std::error_code error;
  const std::filesystem::path place =
      std::filesystem::canonical(key.path, error);
  // What is not there has one spelling; whoever opens it says what is wrong.
  return {type, error ? key.path : place.string(), key.about, key.owner};
}

absl::Status RequireDirectory(absl::string_view what,
                              const std::string& directory) {
  std::error_code error;
  if (std::filesystem::is_directory(directory, error)) return absl::OkStatus();
  return absl::NotFoundError(
      absl::StrCat(what, ": '", directory, "' is not a directory"));
}

}  // namespace banyan
