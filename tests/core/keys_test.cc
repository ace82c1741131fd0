#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/params.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace banyan {
namespace {

using testing::ElementsAre;

enum class OnLow { kStop, kDrop, kWait };

struct Options {
  int nodes = 1;
  double share = 0.25;
  bool adjust = false;
  std::string name = "any";
  std::vector<int> layers;
  OnLow on_low = OnLow::kDrop;
  struct {
    int levels = 3;
  } limits;
};

// "nodes [int; required] The nodes."
std::vector<std::string> Shown(const std::vector<KeyRow>& rows) {
  std::vector<std::string> shown;
  for (const KeyRow& row : rows)
    shown.push_back(absl::StrCat(row.name, " [", row.type, "; ", row.fallback,
                                 row.required ? "required] " : "] ",
                                 row.sentence));
  return shown;
}

using Texts = std::vector<std::pair<std::string, std::string>>;

Params Section(const Texts& texts) {
  std::vector<Params::Entry> entries;
  for (const auto& [key, text] : texts)
    entries.push_back({key, {}, Params::Scalar(text)});
  return Params::Map(std::move(entries));
}

// What a reader says of a section; empty: nothing.
template <typename T>
std::string Refusal(const Keys<T>& keys, const Texts& texts) {
  const Params section = Section(texts);
  ParamsReader in(section, "part");
  T options{};
  keys.Read(in, options);
  return std::string(in.Finish().message());
}

TEST(Keys, AreShownWithTypeDefaultAndSentenceWithoutASection) {
  Keys<Options> keys;
  keys.Required("nodes", &Options::nodes, "The nodes.");
  keys.Optional("share", &Options::share, "The share.");
  keys.Optional("adjust", &Options::adjust, "Whether.");
  keys.Optional("name", &Options::name, "The name.");
  keys.Optional("layers", &Options::layers, "The layers.");
  keys.AtLeast("least", &Options::nodes, 1, "Some.");
  keys.Between("range", &Options::share, 0.001, 1.0, "Few.");
  keys.OneOf("on_low", &Options::on_low, {"stop", "drop", "wait"}, "Low.");
  keys.Optional(
      "levels", [](Options& read) -> int& { return read.limits.levels; },
      "The levels.");
  keys.Described("file", "file or all", "A file.");
  keys.Described({.name = "list",
                  .type = "list of name",
                  .required = true,
                  .sentence = "A list."});
  EXPECT_THAT(
      Shown(keys.Rows()),
      ElementsAre(
          "nodes [int; required] The nodes.", "share [number; 0.25] The share.",
          "adjust [true or false; false] Whether.",
          "name [text; any] The name.", "layers [list of int; ] The layers.",
          "least [int, at least 1; 1] Some.",
          "range [number, 0.001 to 1; 0.25] Few.",
          "on_low [stop, drop or wait; drop] Low.",
          "levels [int; 3] The levels.", "file [file or all; ] A file.",
          "list [list of name; required] A list."));
}

TEST(Keys, AreReadIntoTheirMembers) {
  Keys<Options> keys;
  keys.Required("nodes", &Options::nodes, "");
  keys.Optional("share", &Options::share, "");
  keys.OneOf("on_low", &Options::on_low, {"stop", "drop", "wait"}, "");
  keys.OneOf("adapts", &Options::adjust, {"no", "yes"}, "");
  keys.Optional(
      "levels", [](Options& read) -> int& { return read.limits.levels; }, "");
  const Params section = Section(
      {{"nodes", "7"}, {"on_low", "wait"}, {"adapts", "yes"}, {"levels", "5"}});
  ParamsReader in(section, "part");
  Options options = {.share = 0.5};
  keys.Read(in, options);
  EXPECT_TRUE(in.Finish().ok()) << in.Finish();
  EXPECT_EQ(options.nodes, 7);
  EXPECT_EQ(options.share, 0.5) << "an absent key leaves its member alone";
  EXPECT_EQ(options.on_low, OnLow::kWait);
  EXPECT_TRUE(options.adjust);
  EXPECT_EQ(options.limits.levels, 5);
  EXPECT_THAT(in.known(),
              ElementsAre("nodes", "share", "on_low", "adapts", "levels"));
}

TEST(Keys, RefuseWhatIsMissingUnknownOrBeyondTheirEdges) {
  Keys<Options> keys;
  keys.Required("nodes", &Options::nodes, "");
  keys.AtLeast("least", &Options::nodes, 1, "");
  keys.Between("range", &Options::share, 0.25, 1.0, "");
  keys.OneOf("on_low", &Options::on_low, {"stop", "drop", "wait"}, "");
  const std::pair<std::string, std::string> nodes = {"nodes", "1"};
  EXPECT_EQ(Refusal(keys, {}), "part: missing key 'nodes'");
  EXPECT_EQ(Refusal(keys, {{"nodes", "x"}}),
            "expected a whole number, found 'x'");
  EXPECT_EQ(Refusal(keys, {nodes, {"least", "1"}, {"range", "1"}}), "");
  EXPECT_EQ(Refusal(keys, {nodes, {"range", "0.25"}, {"on_low", "stop"}}), "");
  EXPECT_EQ(Refusal(keys, {nodes, {"least", "0"}}),
            "part: 'least' must be at least 1, found '0'");
  EXPECT_EQ(Refusal(keys, {nodes, {"range", "0.2"}}),
            "part: 'range' must lie between 0.25 and 1, found '0.2'");
  EXPECT_EQ(Refusal(keys, {nodes, {"range", "1.1"}}),
            "part: 'range' must lie between 0.25 and 1, found '1.1'");
  EXPECT_EQ(Refusal(keys, {nodes, {"on_low", "go"}}),
            "part: 'on_low' must be stop, drop or wait, found 'go'");
  EXPECT_EQ(Refusal(keys, {nodes, {"on_lo", "stop"}}),
            "part: unknown key 'on_lo'; did you mean 'on_low'? known: nodes, "
            "least, range, on_low");
}

TEST(Keys, StandOnlyWithAnother) {
  Keys<Options> keys;
  keys.Optional("share", &Options::share, "");
  keys.Optional("nodes", &Options::nodes, "").OnlyWith("share");
  keys.Optional("adjust", &Options::adjust, "");
  keys.AtLeast("most", &Options::nodes, 1, "").OnlyWith("adjust", "true");
  keys.Optional("name", &Options::name, "")
      .OnlyWith("adjust", "true", "names what adjusts");
  EXPECT_EQ(Refusal(keys, {}), "");
  EXPECT_EQ(Refusal(keys, {{"share", "0"}}), "");
  EXPECT_EQ(Refusal(keys, {{"share", "0"}, {"nodes", "1"}}), "");
  EXPECT_EQ(Refusal(keys, {{"adjust", "true"}, {"most", "2"}, {"name", "x"}}),
            "");
  EXPECT_EQ(Refusal(keys, {{"nodes", "1"}}),
            "part: 'nodes' belongs to share, and needs it, found '1'");
  const std::string refused =
      "part: 'most' belongs to adjust, and needs it, found '2'";
  EXPECT_EQ(Refusal(keys, {{"most", "2"}}), refused);
  EXPECT_EQ(Refusal(keys, {{"adjust", "false"}, {"most", "2"}}), refused);
  EXPECT_EQ(Refusal(keys, {{"name", "x"}}),
            "part: 'name' names what adjusts, found 'x'");
}

// A group that several parts have, such as the key `next` of verifiers.
template <typename T>
void AddSize(Keys<T>& keys) {
  keys.AtLeast("nodes", &T::nodes, 0, "The nodes.");
}

TEST(Keys, AreComposedOfGroups) {
  struct Large {
    int nodes = 64;
    bool fast = false;
  };
  Keys<Large> keys;
  keys.Optional("fast", &Large::fast, "Whether.");
  AddSize(keys);
  EXPECT_THAT(Shown(keys.Rows()),
              ElementsAre("fast [true or false; false] Whether.",
                          "nodes [int, at least 0; 64] The nodes."));
  EXPECT_EQ(Refusal(keys, {{"nodes", "-1"}}),
            "part: 'nodes' must be at least 0, found '-1'");
}

TEST(Keys, LeaveDescribedKeysToTheBuildFunction) {
  Keys<Options> keys;
  keys.Described("file", "text", "A file.");
  EXPECT_EQ(Refusal(keys, {{"file", "x"}}), "part: unknown key 'file'");
}

int Build(ParamsReader& in, int nodes, const std::string& bench) {
  EXPECT_EQ(bench, "bench");
  return in.ok() ? nodes : -1;
}

TEST(Keys, AreReadBeforeTheBuildFunctionIsCalled) {
  std::function<int(ParamsReader&, const std::string&)> build;
  {
    Keys<int> keys(4);
    keys.AtLeast("nodes", std::identity(), 1, "The nodes.");
    EXPECT_EQ(keys.Rows().front().fallback, "4");
    build = keys.ReadFor(Build);
  }
  const auto built = [&](const Params& section) {
    ParamsReader in(section, "part");
    return build(in, "bench");
  };
  EXPECT_EQ(built(Section({})), 4);
  EXPECT_EQ(built(Section({{"nodes", "9"}})), 9);
  EXPECT_EQ(built(Section({{"nodes", "0"}})), -1);
}

}  // namespace
}  // namespace banyan
