// Assets: one cache of what is opened from disk for drafting, whatever its
// type: models, heads, tables of counts.
//
// An asset is known by its C++ type and an AssetKey. Who asks first brings the
// function that opens it, so this file knows no kind of asset: what a drafter
// reads is opened in the drafter's folder.
#ifndef BANYAN_DRAFTERS_ASSETS_H_
#define BANYAN_DRAFTERS_ASSETS_H_

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <typeindex>
#include <typeinfo>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/status_macros.h"

namespace banyan {

struct AssetKey {
  std::string path;  // of a file or a directory, however spelt
  // What else decides what is opened, such as a format.
  std::string about = {};
  // What the asset was made for, such as a target; null: nothing. The cache
  // keeps it too, so that no other one can come to stand at its address.
  std::shared_ptr<const void> owner = nullptr;
};

// For one thread. An asset outlives the cache where somebody still holds it.
class Assets {
 public:
  template <typename T>
  using Opener = absl::FunctionRef<absl::StatusOr<std::shared_ptr<const T>>()>;

  // What was opened before as a T under this key, or else what `open` gives; it
  // may open other assets. An error is handed on and not kept: the next call
  // opens again.
  template <typename T>
  absl::StatusOr<std::shared_ptr<const T>> Open(const AssetKey& key,
                                                Opener<T> open) {
    asked_.push_back(key.path);
    Id id = IdOf(typeid(T), key);
    if (const auto found = opened_.find(id); found != opened_.end())
      return std::static_pointer_cast<const T>(found->second);
    BANYAN_ASSIGN_OR_RETURN(std::shared_ptr<const T> asset, open());
    opened_.emplace(std::move(id), asset);
    return asset;
  }

  // The paths that were asked for since the last call, in that order, those
  // that were open already too: what a method rests on, whoever reads it.
  std::vector<std::string> TakePaths() { return std::exchange(asked_, {}); }

 private:
  // Type, canonical path, about, owner.
  using Id = std::tuple<std::type_index, std::string, std::string,
                        std::shared_ptr<const void>>;

  static Id IdOf(std::type_index type, const AssetKey& key);

  std::map<Id, std::shared_ptr<const void>> opened_;
  std::vector<std::string> asked_;
};

// NotFound, "WHAT: 'DIRECTORY' is not a directory", unless it is one.
absl::Status RequireDirectory(absl::string_view what,
                              const std::string& directory);

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_ASSETS_H_
