// Workbench: what drafters are built with: the target, the names of a method
// file's `models`, and the cache of what they open.
//
//   // drafters/NAME/: `name` is what the drafter's section says, `heads` the
//   // key under which `models` names the folder.
//   BANYAN_ASSIGN_OR_RETURN(
//       const std::shared_ptr<const Heads> heads,
//       bench.OpenFolder<Heads>("heads", name, [&](const std::string& folder) {
//         return LoadHeads(folder, bench.target());
//       }));
#ifndef BANYAN_DRAFTERS_WORKBENCH_H_
#define BANYAN_DRAFTERS_WORKBENCH_H_

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <typeindex>
#include <typeinfo>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "core/base/common.h"
#include "core/base/params.h"
#include "core/base/token.h"
#include "core/model/model.h"
#include "core/prob/sampling_rule.h"
#include "core/tokenizer/tokenizer.h"
#include "core/tokenizer/vocabulary.h"

namespace banyan {

// Assets: one cache of what is opened from disk for drafting, whatever its
// type: models, heads, tables of counts.
//
// An asset is known by its C++ type and an AssetKey. Who asks first brings the
// function that opens it, so this file knows no kind of asset: what a drafter
// reads is opened in the drafter's folder.
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

class Drafter;

// A model whose tokens need not be the target's.
struct OtherModel {
  std::shared_ptr<const Model> model;
  // From the target's tokens to the model's; and to the target's own, for what
  // cuts its text anew.
  std::shared_ptr<const VocabularyMap> map, of_target;
  std::vector<TokenId> ends;             // the model's tokens that end a text
  std::optional<TokenId> end_of_target;  // the target's, if it is known
};

// The parts of it, for a bench and for tests.
OtherModel MakeOtherModel(const Model& target,
                          std::shared_ptr<const Tokenizer> target_tokenizer,
                          std::shared_ptr<const Model> model,
                          std::shared_ptr<const Tokenizer> tokenizer);

// Outlives the drafters built with it. For one thread. Building a drafter a
// second time opens nothing.
class Workbench {
 public:
  // Opens what stands at a path, that of a file or a folder.
  template <typename T>
  using Opener = absl::FunctionRef<absl::StatusOr<std::shared_ptr<const T>>(
      const std::string& path)>;

  // `rule` is what a drafter samples by unless its section says otherwise.
  // Several benches may share one cache.
  Workbench(std::shared_ptr<const Model> target, SamplingRule rule,
            std::shared_ptr<Assets> assets)
      : target_(std::move(target)),
        rule_(std::move(rule)),
        assets_(std::move(assets)) {}

  // The target's tokenizer, if it has one; before a drafter is built.
  void SetTokenizer(std::shared_ptr<const Tokenizer> tokenizer) {
    tokenizer_ = std::move(tokenizer);
  }
  // Null: it has none.
  const std::shared_ptr<const Tokenizer>& tokenizer() const {
    return tokenizer_;
  }

  // What a name stands for: a model that is open, with its tokenizer if it has
  // one, or the folder whose path stands at `place`, under `key`. The path of a
  // model's directory stands at its `place`; null: the directory is not its
  // own. Each name is added once.
  void AddModel(const std::string& name, std::shared_ptr<const Model> model,
                std::shared_ptr<const Tokenizer> tokenizer = nullptr,
                Params place = Params());
  void AddFolder(const std::string& name, absl::string_view key, Params place);
  // That `place`; null: it has none, or there is no such name.
  const Params* PlaceOf(const std::string& name) const;

  const Model& target() const { return *target_; }
  const std::shared_ptr<const Model>& shared_target() const { return target_; }
  const SamplingRule& rule() const { return rule_; }
  // The rule of the section's `sampling` (SamplingKey), or else rule().
  absl::StatusOr<SamplingRule> TakeRule(ParamsReader& in) const;
  // The model of this name, whose tokens are the target's: the same number is
  // the same token. An error at `name` if it has others, or with the nearest
  // known name.
  absl::StatusOr<std::shared_ptr<const Model>> Open(const Params& name);
  // The model of this name, whatever its tokens are. An error at `name` as
  // above, or if it or the target has no tokenizer.
  absl::StatusOr<OtherModel> OpenOther(const Params& name);

  // What is in the folder that `name` names under `key`, opened once as a T for
  // this target. An error at `name` as Open(), or at the folder's path if it is
  // none or `open` fails. `hint` says how to get what is not found.
  template <typename T>
  absl::StatusOr<std::shared_ptr<const T>> OpenFolder(
      absl::string_view key, const Params& name, Opener<T> open,
      absl::string_view hint = {}) {
    BANYAN_ASSIGN_OR_RETURN(const Named* named, Find(key, name));
    const auto open_folder = [&](const std::string& path)
        -> absl::StatusOr<std::shared_ptr<const T>> {
      absl::Status is_there = RequireDirectory(key, path);
      if (is_there.ok()) {
        absl::StatusOr<std::shared_ptr<const T>> opened = open(path);
        if (!absl::IsNotFound(opened.status())) return opened;
        is_there = opened.status();
      }
      return absl::NotFoundError(absl::StrCat(is_there.message(), hint));
    };
    return OpenAt<T>(named->place, {.owner = target_}, open_folder);
  }

  // What is in the file whose path stands at `place`, opened once as a T for
  // this `about`. An error at `place`.
  template <typename T>
  absl::StatusOr<std::shared_ptr<const T>> OpenFile(const Params& place,
                                                    const std::string& about,
                                                    Opener<T> open) {
    return OpenAt<T>(place, {.about = about}, open);
  }

  // The same, made of the file for `owner`, such as a model.
  template <typename T>
  absl::StatusOr<std::shared_ptr<const T>> OpenFor(
      const Params& place, std::shared_ptr<const void> owner, Opener<T> open) {
    return OpenAt<T>(place, {.owner = std::move(owner)}, open);
  }

  // The drafter of a section, for one that is made of drafters. Requires
  // SetBuilder(), which BuildDrafter (catalogue.h) calls.
  absl::StatusOr<std::unique_ptr<Drafter>> Build(const Params& section);
  using Builder = absl::StatusOr<std::unique_ptr<Drafter>> (*)(
      const Params& section, Workbench& bench);
  void SetBuilder(Builder builder) { builder_ = builder; }

  // Whether some drafter asked for the model or the folder of this name.
  bool opened(const std::string& name) const { return opened_.count(name) > 0; }

 private:
  struct Named {
    std::string key;
    std::shared_ptr<const Model> model;  // null: a folder
    std::shared_ptr<const Tokenizer> tokenizer;
    Params place;  // null: none
  };

  // OK, or what of its tokens are not the target's.
  absl::Status CheckTokens(const Named& named) const;

  // The key's path is that at `place`.
  template <typename T>
  absl::StatusOr<std::shared_ptr<const T>> OpenAt(const Params& place,
                                                  AssetKey key,
                                                  Opener<T> open) {
    BANYAN_RETURN_IF_ERROR(Convert(place, key.path));
    if (key.path.empty()) return place.Expected("a path");
    key.path = Beside(place, key.path);
    auto asset = assets_->Open<T>(key, [&] { return open(key.path); });
    if (!asset.ok()) return place.Error(asset.status().message());
    return asset;
  }

  // What stands under `name` with this key.
  absl::StatusOr<const Named*> Find(absl::string_view key, const Params& name);

  std::shared_ptr<const Model> target_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  SamplingRule rule_;
  std::shared_ptr<Assets> assets_;
  std::map<std::string, Named> named_;
  std::set<std::string> opened_;
  Builder builder_ = nullptr;
};

// The key `sampling`, which TakeRule reads.
KeyRow SamplingKey();
// A required key whose value is a name or a section. Build functions take it
// with ParamsReader::TakeRequired.
KeyRow NameKey(const std::string& key, const std::string& sentence);

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_WORKBENCH_H_
