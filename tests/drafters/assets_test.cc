// The cache of opened assets, and the bench that drafters ask it through.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>

#include "core/base/common.h"
#include "core/base/params.h"
#include "core/prob/sampling_rule.h"
#include "drafters/text/token_counts.h"
#include "drafters/workbench.h"
#include "tests/conformance/toys.h"
#include "tests/core/checkpoint/files.h"

namespace banyan {
namespace {

using testing::HasSubstr;

// Opens numbers, and counts how often.
class Loader {
 public:
  std::shared_ptr<const int> Open(Assets& assets, const AssetKey& key) {
    const auto asset = assets.Open<int>(key, [&] {
      ++loads_;
      return std::make_shared<const int>(loads_);
    });
    EXPECT_TRUE(asset.ok()) << asset.status();
    return *asset;
  }
  int loads() const { return loads_; }

 private:
  int loads_ = 0;
};

TEST(Assets, AreOpenedOnceHoweverTheirPathIsSpelt) {
  const TestFolder folder;
  const std::string path = folder.Write("a", "");
  std::filesystem::create_symlink(path, folder.path() + "/b");
  Assets assets;
  Loader loader;
  const auto first = loader.Open(assets, {.path = path});
  for (const std::string& same :
       {path, folder.path() + "/./a", folder.path() + "/b"})
    EXPECT_EQ(loader.Open(assets, {.path = same}), first) << same;
  EXPECT_EQ(loader.loads(), 1);
}

TEST(Assets, AreToldApartByPathAboutOwnerAndType) {
  const TestFolder folder;
  const std::string a = folder.Write("a", "");
  const std::string b = folder.Write("b", "");
  const auto owner = std::make_shared<int>(0);
  const auto other = std::make_shared<int>(0);
  Assets assets;
  Loader loader;
  for (int again = 0; again < 2; ++again) {
    loader.Open(assets, {.path = a});
    loader.Open(assets, {.path = b});
    loader.Open(assets, {.path = a, .about = "q8"});
    loader.Open(assets, {.path = a, .owner = owner});
    loader.Open(assets, {.path = a, .owner = other});
    EXPECT_EQ(loader.loads(), 5);
  }
  int texts = 0;
  const auto text = assets.Open<std::string>({.path = a}, [&] {
    ++texts;
    return std::make_shared<const std::string>("text");
  });
  ASSERT_EQ(texts, 1);
  EXPECT_EQ(**text, "text");
}

TEST(Assets, ForgetErrors) {
  Assets assets;
  int loads = 0;
  const auto open = [&]() -> absl::StatusOr<std::shared_ptr<const int>> {
    if (++loads < 3) return absl::NotFoundError(absl::StrCat("try ", loads));
    return std::make_shared<const int>(loads);
  };
  const AssetKey key = {.path = "no_such_file"};
  EXPECT_EQ(assets.Open<int>(key, open).status(), absl::NotFoundError("try 1"));
  EXPECT_EQ(assets.Open<int>(key, open).status(), absl::NotFoundError("try 2"));
  for (int again = 0; again < 2; ++again) {
    const auto asset = assets.Open<int>(key, open);
    ASSERT_TRUE(asset.ok()) << asset.status();
    EXPECT_EQ(**asset, 3);
  }
}

TEST(Assets, KeepWhatTheyWereMadeForAndOutliveTheCache) {
  auto owner = std::make_shared<int>(0);
  const std::weak_ptr<int> watched = owner;
  std::shared_ptr<const int> asset;
  {
    Assets assets;
    asset = Loader().Open(assets, {.path = "", .owner = owner});
    owner.reset();
    EXPECT_FALSE(watched.expired());
  }
  EXPECT_TRUE(watched.expired());
  EXPECT_EQ(*asset, 1);
}

Params At(const std::string& text, int line) {
  return Params::Scalar(text,
                        {std::make_shared<std::string>("m.yaml"), line, 7});
}

// A bench on a target of its own, with a folder of heads and a model.
class BenchOn {
 public:
  BenchOn(const std::shared_ptr<Assets>& assets, const std::string& folder)
      : bench_(Toy({}), SamplingRule(), assets) {
    bench_.AddFolder("heads", "heads", At(folder, 2));
    bench_.AddModel("draft", Toy({}));
  }
  Workbench& operator*() { return bench_; }
  absl::StatusOr<std::shared_ptr<const int>> Open(const std::string& name,
                                                  int& loads) {
    return bench_.OpenFolder<int>("heads", At(name, 5),
                                  [&](const std::string& /*path*/) {
                                    return std::make_shared<const int>(++loads);
                                  });
  }

 private:
  Workbench bench_;
};

TEST(Workbench, OpensAFolderOnceForEachTarget) {
  const TestFolder folder;
  const auto assets = std::make_shared<Assets>();
  BenchOn one(assets, folder.path());
  BenchOn two(assets, folder.path());
  int loads = 0;
  const auto first = one.Open("heads", loads);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(*one.Open("heads", loads), *first);
  EXPECT_EQ(loads, 1);
  EXPECT_NE(*two.Open("heads", loads), *first);
  EXPECT_EQ(loads, 2);
}

TEST(Workbench, KnowsWhichNamesWereAskedFor) {
  const TestFolder folder;
  BenchOn bench(std::make_shared<Assets>(), folder.path());
  int loads = 0;
  EXPECT_FALSE((*bench).opened("heads"));
  ASSERT_TRUE(bench.Open("heads", loads).ok());
  EXPECT_TRUE((*bench).opened("heads"));
  EXPECT_FALSE((*bench).opened("draft"));
  ASSERT_TRUE((*bench).Open(At("draft", 6)).ok());
  EXPECT_TRUE((*bench).opened("draft"));
}

TEST(Workbench, SaysAtItsPlaceWhatCannotBeOpened) {
  BenchOn bench(std::make_shared<Assets>(), "no_such_folder");
  int loads = 0;
  const auto refusal = [&](const std::string& name) {
    return std::string(bench.Open(name, loads).status().message());
  };
  EXPECT_EQ(refusal("heads"),
            "m.yaml:2:7: heads: 'no_such_folder' is not a directory");
  EXPECT_THAT(refusal("haeds"),
              HasSubstr("m.yaml:5:7: unknown heads 'haeds'; did you mean "
                        "'heads'?"));
  // A model is no folder of heads, and the other way about.
  EXPECT_THAT(refusal("draft"), HasSubstr("unknown heads 'draft'"));
  EXPECT_THAT(std::string((*bench).Open(At("heads", 3)).status().message()),
              HasSubstr("m.yaml:3:7: unknown model 'heads'; known: draft"));
  EXPECT_EQ(loads, 0);
}

TEST(Workbench, ReadsAFileOfCountsOnceForAVocabulary) {
  const TokenCounts counts = {.unigram = {6, 3, 1},
                              .offsets = {0, 1, 1, 1},
                              .tokens = {1},
                              .counts = {3}};
  const TestFolder folder;
  const std::string path = folder.path() + "/c.safetensors";
  ASSERT_TRUE(WriteTokenCounts(path, counts).ok());
  const auto assets = std::make_shared<Assets>();
  const auto read = [&](int vocab_size) {
    Workbench bench(Toy({.vocab_size = vocab_size}), SamplingRule(), assets);
    const Params section = Params::Map({{"counts", {}, At(path, 4)}});
    ParamsReader in(section, "unigram");
    return TakeCounts(in, bench);
  };
  const auto first = read(3);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(first->counts->unigram, counts.unigram);
  EXPECT_EQ(read(3)->counts, first->counts)
      << "another target of the same vocabulary";
  EXPECT_THAT(std::string(read(4).status().message()),
              HasSubstr("m.yaml:4:7: " + path + ": tensor 'unigram'"));
}

}  // namespace
}  // namespace banyan
