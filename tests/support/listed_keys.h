// Compares the keys that a part's row lists with those that the part reads.
#ifndef BANYAN_TESTS_SUPPORT_LISTED_KEYS_H_
#define BANYAN_TESTS_SUPPORT_LISTED_KEYS_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "configs/loader/yaml.h"
#include "core/base/common.h"
#include "core/base/params.h"

namespace banyan {

// Expects that `keys` are all keys that `build` asks a section for, and that
// those are required which it misses by name in `example` without them.
inline void ExpectListed(const std::vector<KeyRow>& keys,
                         absl::string_view example,
                         absl::FunctionRef<void(ParamsReader& in)> build) {
  std::vector<std::string> names;
  for (const KeyRow& key : keys) names.push_back(key.name);
  const Params empty;
  ParamsReader asked(empty, "part");
  build(asked);
  EXPECT_THAT(names, testing::UnorderedElementsAreArray(asked.known()));

  const Params whole = ParseYaml(std::string(example), "example").value();
  for (const KeyRow& key : keys) {
    std::vector<Params::Entry> others;
    for (const Params::Entry& entry : whole.entries())
      if (entry.key != key.name) others.push_back(entry);
    const Params without = Params::Map(std::move(others));
    ParamsReader in(without, "part");
    build(in);
    EXPECT_EQ(absl::StrContains(in.Finish().message(),
                                absl::StrCat("missing key '", key.name, "'")),
              key.required)
        << key.name;
    EXPECT_FALSE(key.type.empty() || key.sentence.empty()) << key.name;
  }
}

}  // namespace banyan

#endif  // BANYAN_TESTS_SUPPORT_LISTED_KEYS_H_
