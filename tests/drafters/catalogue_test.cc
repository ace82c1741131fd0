// What the rows of the catalogue say of themselves.
#include "drafters/catalogue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "configs/loader/yaml.h"
#include "core/base/common.h"
#include "core/base/params.h"
#include "core/prob/sampling_rule.h"
#include "drafters/row.h"
#include "drafters/workbench.h"
#include "tests/conformance/toys.h"
#include "tests/support/listed_keys.h"

namespace banyan {
namespace {

using testing::UnorderedElementsAreArray;

// The names of `models` that examples use (DrafterRow::examples).
constexpr absl::string_view kNames[] = {
    "draft", "fewer", "more", "others", "heads", "head", "embeddings", "index"};

// Those that stand in `value`, each once.
void FindNames(const Params& value, std::vector<std::string>& found) {
  const bool is_name = std::find(std::begin(kNames), std::end(kNames),
                                 value.text()) != std::end(kNames);
  if (value.kind() == Params::Kind::kScalar && is_name &&
      std::find(found.begin(), found.end(), value.text()) == found.end())
    found.push_back(value.text());
  for (const Params::Entry& entry : value.entries())
    if (entry.key != "name") FindNames(entry.value, found);
  for (const Params& item : value.items()) FindNames(item, found);
}

// Of all examples; a row without a model names none.
TEST(DrafterCatalogue, RowsSayWhichKeyNamesTheirModel) {
  int with_models = 0;
  for (const DrafterRow& row : DrafterCatalogue())
    for (const absl::string_view example : row.examples) {
      const auto keys = ParseYaml(std::string(example), "example");
      ASSERT_TRUE(keys.ok()) << keys.status();
      std::vector<Params::Entry> entries(keys->entries().begin(),
                                         keys->entries().end());
      entries.push_back({"name", {}, Params::Scalar(std::string(row.name))});
      const Params section = Params::Map(std::move(entries));
      std::vector<std::string> names;
      FindNames(section, names);
      EXPECT_THAT(ModelsOf(section), UnorderedElementsAreArray(names))
          << row.name << " " << example;
      with_models += names.empty() ? 0 : 1;
    }
  EXPECT_GE(with_models, 20);
  // The one whose examples show no model.
  EXPECT_THAT(
      ModelsOf(*ParseYaml("{name: skip, attention: [1], weights: draft}", "")),
      testing::ElementsAre("draft"));
}

TEST(DrafterCatalogue, RowsListTheKeysThatAreRead) {
  Workbench bench(Toy({}), SamplingRule(), std::make_shared<Assets>());
  bench.SetBuilder(&BuildDrafter);
  for (const DrafterRow& row : DrafterCatalogue()) {
    SCOPED_TRACE(row.name);
    ExpectListed(row.keys, row.examples.front(),
                 [&](ParamsReader& in) { row.build(in, bench).IgnoreError(); });
  }
}

}  // namespace
}  // namespace banyan
