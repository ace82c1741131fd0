// How many kernels a layer launches, and what these move.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/input_files.h"
#include "core/base/weight_format.h"
#include "tests/gpu/layer_traffic.h"
#include "tests/support/host_part.h"

namespace banyan {
namespace {

// The lines of the file, by place in TrafficCases().
std::vector<std::string> RecordedLines() {
  const auto text = ReadFile(kTrafficFile, 1 << 20);
  EXPECT_TRUE(text.ok()) << text.status();
  std::vector<std::string> lines;
  if (!text.ok()) return lines;
  for (absl::string_view line : absl::StrSplit(*text, '\n', absl::SkipEmpty()))
    if (line[0] != '#') lines.emplace_back(line);
  return lines;
}

class LayerTraffic : public testing::TestWithParam<int> {};

// Fails if a layer's traffic changed. If the change is intended, record it with
// `gpu_bits --traffic`.
TEST_P(LayerTraffic, IsAsRecorded) {
  const auto place = static_cast<std::size_t>(GetParam());
  const TrafficCase traffic = TrafficCases()[place];
  if (LeftOutOnHost(traffic.ToText(), traffic.rows == 1)) return;
  const std::vector<std::string> lines = RecordedLines();
  ASSERT_EQ(lines.size(), TrafficCases().size());
  EXPECT_EQ(TrafficLine(traffic), lines[place]);
}

INSTANTIATE_TEST_SUITE_P(
    All, LayerTraffic, testing::Range(0, 32), [](const auto& place) {
      const TrafficCase of =
          TrafficCases()[static_cast<std::size_t>(place.param)];
      return absl::StrCat(of.family, "_", Name(of.format), "_", of.sequences,
                          "x", of.rows);
    });

// As many as the design wants (docs/devices.md): head norms take one more,
// layer norms two. More than 16 rows are packed for each of four products.
TEST(LayerLaunches, AreFew) {
  const std::vector<std::string> lines = RecordedLines();
  const std::vector<TrafficCase> cases = TrafficCases();
  ASSERT_EQ(lines.size(), cases.size());
  ASSERT_EQ(cases.size(), 32U);  // of the range above
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const TrafficCase& of = cases[i];
    const int more = of.family == "qwen3" ? 1 : of.family == "gpt2" ? 2 : 0;
    const int packed = of.rows > 16 ? 4 : 0;
    const std::vector<std::string> fields =
        absl::StrSplit(lines[i], ' ', absl::SkipEmpty());
    ASSERT_EQ(fields.size(), 11U) << lines[i];
    EXPECT_EQ(fields[0], of.family);
    EXPECT_EQ(fields[1], Name(of.format));
    EXPECT_EQ(fields[4], std::to_string(6 + more + packed)) << of.ToText();
  }
}

}  // namespace
}  // namespace banyan
