#include "core/base/params.h"

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/common.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace banyan {
namespace {

using testing::HasSubstr;

Origin At(int line, int column) {
  return {std::make_shared<const std::string>("c.yaml"), line, column};
}

Params Text(const std::string& text) { return Params::Scalar(text, At(1, 2)); }

// A map at 1:1 whose i-th entry has its key at i:1 and its value at i:9.
Params Section(std::vector<std::pair<std::string, Params>> entries) {
  std::vector<Params::Entry> out;
  int line = 0;
  for (auto& [key, value] : entries) {
    ++line;
    const Origin at = At(line, 9);
    if (value.kind() == Params::Kind::kScalar)
      value = Params::Scalar(value.text(), at);
    out.push_back({key, At(line, 1), std::move(value)});
  }
  return Params::Map(std::move(out), At(1, 1));
}

template <typename T>
std::string Refusal(const Params& value) {
  T out{};
  const absl::Status status = Convert(value, out);
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  return std::string(status.message());
}

template <typename T>
T Converted(const Params& value) {
  T out{};
  const absl::Status status = Convert(value, out);
  EXPECT_TRUE(status.ok()) << status;
  return out;
}

TEST(Params, IsNullFromNowhereByDefault) {
  const Params value;
  EXPECT_EQ(value.kind(), Params::Kind::kNull);
  EXPECT_EQ(value.Error("bad").message(), "bad");
  EXPECT_EQ(value.Find("a"), nullptr);
}

TEST(Params, FindsAKeyOnlyInAMap) {
  const Params map = Section({{"a", Text("1")}, {"b", Text("2")}});
  EXPECT_EQ(map.Find("b")->text(), "2");
  EXPECT_EQ(map.Find("c"), nullptr);
  EXPECT_EQ(Text("a").Find("a"), nullptr);
}

TEST(Params, PutsThePlaceIntoAnError) {
  EXPECT_EQ(Text("x").Error("is bad").message(), "c.yaml:1:2: is bad");
}

TEST(Params, FindsPathsBesideTheFileThatNamesThem) {
  const Params value = Params::Scalar(
      "x", {std::make_shared<const std::string>("configs/a/c.yaml"), 1, 2});
  EXPECT_EQ(Beside(value, "x/y"), "configs/a/x/y");
  EXPECT_EQ(Beside(value, "/x/y"), "/x/y");
  EXPECT_EQ(Beside(Text("x"), "x/y"), "x/y") << "c.yaml has no folder";
  EXPECT_EQ(Beside(Params(), "x/y"), "x/y") << "from nowhere";
}

TEST(Convert, ReadsWholeNumbers) {
  EXPECT_EQ(Converted<int>(Text("-7")), -7);
  EXPECT_EQ(Converted<int>(Text("2147483647")), 2147483647);
}

TEST(Convert, RefusesWhatIsNoWholeNumber) {
  for (const char* text : {"", "x", "1.5", "1e3", "2147483648", "0x10", "1 2"})
    EXPECT_EQ(Refusal<int>(Text(text)),
              "c.yaml:1:2: expected a whole number, found '" +
                  std::string(text) + "'");
  EXPECT_EQ(Refusal<int>(Params(At(3, 4))),
            "c.yaml:3:4: expected a whole number, found nothing");
  EXPECT_EQ(Refusal<int>(Params::List({}, At(3, 4))),
            "c.yaml:3:4: expected a whole number, found a list");
  EXPECT_EQ(Refusal<int>(Params::Map({}, At(3, 4))),
            "c.yaml:3:4: expected a whole number, found a map");
}

TEST(Convert, CutsALongTextInAMessage) {
  EXPECT_EQ(Refusal<int>(Text(std::string(41, 'x'))),
            "c.yaml:1:2: expected a whole number, found '" +
                std::string(40, 'x') + "...'");
}

TEST(Convert, ReadsFiniteNumbersOnly) {
  EXPECT_EQ(Converted<double>(Text("-1.5e-3")), -1.5e-3);
  EXPECT_EQ(Converted<double>(Text("4")), 4.0);
  for (const char* text : {"nan", "inf", "-inf", "infinity", "1e999", "-1e999",
                           ".nan", ".inf", "x", "", "1,5"})
    EXPECT_EQ(Refusal<double>(Text(text)),
              "c.yaml:1:2: expected a finite number, found '" +
                  std::string(text) + "'");
  EXPECT_THAT(Refusal<double>(Params()), HasSubstr("found nothing"));
}

TEST(Convert, ReadsTrueAndFalseOnly) {
  EXPECT_TRUE(Converted<bool>(Text("true")));
  EXPECT_FALSE(Converted<bool>(Text("false")));
  for (const char* text : {"yes", "no", "True", "1", ""})
    EXPECT_THAT(Refusal<bool>(Text(text)), HasSubstr("expected true or false"));
  EXPECT_THAT(Refusal<bool>(Params::List({})), HasSubstr("found a list"));
}

TEST(Convert, ReadsTextsAsTheyAre) {
  EXPECT_EQ(Converted<std::string>(Text(" a ")), " a ");
  EXPECT_THAT(Refusal<std::string>(Params()),
              HasSubstr("expected a text, found nothing"));
  EXPECT_THAT(Refusal<std::string>(Params::Map({})), HasSubstr("found a map"));
}

TEST(Convert, ReadsNestedLists) {
  const Params rows =
      Params::List({Params::List({Text("1"), Text("2")}), Params::List({}),
                    Params::List({Text("3")})});
  EXPECT_EQ(Converted<std::vector<std::vector<int>>>(rows),
            (std::vector<std::vector<int>>{{1, 2}, {}, {3}}));
}

TEST(Convert, NamesTheItemAtFaultInANestedList) {
  const Params rows =
      Params::List({Params::List({Text("1")}),
                    Params::List({Params::Scalar("x", At(5, 6))})});
  EXPECT_EQ(Refusal<std::vector<std::vector<int>>>(rows),
            "c.yaml:5:6: expected a whole number, found 'x'");
  EXPECT_EQ(Refusal<std::vector<int>>(Text("1")),
            "c.yaml:1:2: expected a list, found '1'");
}

TEST(Convert, ReadsAMapFromWholeNumbersToNumbers) {
  using Map = std::map<int, double>;
  EXPECT_EQ(Converted<Map>(Section({{"2", Text("0.5")}, {"-1", Text("3")}})),
            (Map{{-1, 3.0}, {2, 0.5}}));
  EXPECT_EQ(Refusal<Map>(Section({{"1", Text("1")}, {"x", Text("1")}})),
            "c.yaml:2:1: expected a whole number as key, found 'x'");
  EXPECT_EQ(Refusal<Map>(Section({{"1", Text("inf")}})),
            "c.yaml:1:9: expected a finite number, found 'inf'");
  EXPECT_EQ(Refusal<Map>(Section({{"1", Text("1")}, {"01", Text("2")}})),
            "c.yaml:2:1: key 1 is given twice");
  EXPECT_THAT(Refusal<Map>(Text("1")),
              HasSubstr("expected a map from whole numbers to numbers"));
}

TEST(ParamsReader, ReadsRequiredAndOptionalKeys) {
  const Params section = Section({{"gamma", Text("4")}, {"name", Text("x")}});
  ParamsReader in(section, "policy chain");
  int gamma = 0, width = 7;
  std::string name;
  in.Required("gamma", gamma);
  EXPECT_TRUE(in.Optional("name", name));
  EXPECT_FALSE(in.Optional("width", width));
  EXPECT_TRUE(in.Finish().ok()) << in.Finish();
  EXPECT_EQ(gamma, 4);
  EXPECT_EQ(name, "x");
  EXPECT_EQ(width, 7);
}

TEST(ParamsReader, ReadsNothingAsAMapWithoutKeys) {
  const Params nothing(At(3, 4));
  ParamsReader in(nothing, "policy chain");
  int gamma = 0;
  EXPECT_FALSE(in.Optional("gamma", gamma));
  EXPECT_TRUE(in.Finish().ok());
  in.Required("gamma", gamma);
  EXPECT_EQ(in.Finish().message(),
            "c.yaml:3:4: policy chain: missing key 'gamma'");
}

TEST(ParamsReader, RefusesASectionThatIsNoMap) {
  const Params text = Text("4");
  ParamsReader in(text, "policy chain");
  int gamma = 0;
  in.Required("gamma", gamma);
  EXPECT_EQ(in.Finish().message(),
            "c.yaml:1:2: policy chain: expected a map, found '4'");
}

TEST(ParamsReader, KeepsTheFirstError) {
  const Params section = Section({{"a", Text("x")}, {"b", Text("y")}});
  ParamsReader in(section, "s");
  int a = 0, b = 0;
  in.Required("a", a);
  EXPECT_FALSE(in.ok());
  in.Required("b", b);
  in.Required("c", b);
  EXPECT_EQ(in.Finish().message(),
            "c.yaml:1:9: expected a whole number, found 'x'");
}

TEST(ParamsReader, NamesAnUnknownKeyBeforeTheKeyItLeavesMissing) {
  const Params section = Section({{"depth", Text("1")}, {"gama", Text("4")}});
  ParamsReader in(section, "policy chain");
  int gamma = 0, depth = 0;
  in.Required("gamma", gamma);
  in.Required("depth", depth);
  EXPECT_EQ(in.Finish().message(),
            "c.yaml:2:1: policy chain: unknown key 'gama'; did you mean "
            "'gamma'? known: gamma, depth");
}

TEST(ParamsReader, ListsAKeyReadTwiceOnce) {
  const Params section = Section({{"x", Text("4")}});
  ParamsReader in(section, "s");
  in.Take("gamma");
  in.Take("gamma");
  EXPECT_THAT(std::string(in.Finish().message()),
              testing::EndsWith("known: gamma"));
}

TEST(ParamsReader, TakesAKeyWithoutConvertingIt) {
  const Params section = Section({{"inner", Params::List({Text("1")})}});
  ParamsReader in(section, "s");
  EXPECT_EQ(in.Take("inner"), section.Find("inner"));
  EXPECT_EQ(in.Take("other"), nullptr);
  EXPECT_TRUE(in.Finish().ok());
}

TEST(ParamsReader, EnsuresAtTheValueOrAtTheSection) {
  const Params section = Section({{"a", Text("1")}, {"gamma", Text("0")}});
  ParamsReader at_value(section, "policy chain");
  int a = 0, gamma = 5;
  at_value.Required("a", a);
  at_value.Required("gamma", gamma);
  at_value.Ensure(true, "a", "is fine");
  EXPECT_TRUE(at_value.ok());
  at_value.Ensure(gamma >= 1, "gamma", "must be at least 1");
  EXPECT_EQ(at_value.Finish().message(),
            "c.yaml:2:9: policy chain: 'gamma' must be at least 1, found '0'");
  ParamsReader at_section(section, "policy chain");
  at_section.Required("a", a);
  at_section.Required("gamma", gamma);
  at_section.Ensure(false, "width", "must be at least 1");
  EXPECT_EQ(at_section.Finish().message(),
            "c.yaml:1:1: policy chain: 'width' must be at least 1");
}

}  // namespace
}  // namespace banyan
