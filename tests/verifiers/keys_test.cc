// The keys of the verifiers: every value up to its edge, and none beyond.
#include <string>

#include "absl/status/status.h"
#include "configs/loader/yaml.h"
#include "core/base/params.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/conformance/pairing.h"
#include "tests/support/listed_keys.h"
#include "verifiers/catalogue.h"
#include "verifiers/row.h"

namespace banyan {
namespace {

absl::Status Build(const std::string& spec) {
  return BuildVerifier(ParseYaml(Section(spec), spec).value()).status();
}

TEST(VerifierKeys, AreListedAsTheyAreRead) {
  for (const VerifierRow& row : VerifierCatalogue()) {
    SCOPED_TRACE(row.name);
    ExpectListed(row.keys, "{}",
                 [&](ParamsReader& in) { row.build(in).IgnoreError(); });
  }
}

TEST(VerifierKeys, HoldUpToTheirEdges) {
  for (const char* spec : {"typical {epsilon: 0}",
                           "typical {epsilon: 1}",
                           "typical {delta: 0}",
                           "typical {next: sampled}",
                           "typical {next: argmax}",
                           "lenience {lenience: 0.001}",
                           "lenience {lenience: 1}",
                           "lenience {form: sampling}",
                           "lenience {form: argmax}",
                           "bild {rollback: 0}",
                           "bild {next: sampled}",
                           "top_beta {beta: 1}",
                           "top_beta {tolerance: 0}",
                           "top_beta {next: argmax}",
                           "blockwise_top_k {k: 1}",
                           "blockwise_top_k {next: argmax}",
                           "blockwise_distance {epsilon: 0}",
                           "blockwise_distance {next: sampled}",
                           "multi_round {order: drawn}",
                           "multi_round {order: shuffled}"})
    EXPECT_EQ(Build(spec), absl::OkStatus()) << spec;
}

TEST(VerifierKeys, BeyondTheirEdgesAreRefusedByName) {
  const struct {
    const char* spec;
    const char* key;
  } kCases[] = {
      {"typical {epsilon: -0.001}", "epsilon"},
      {"typical {epsilon: 1.001}", "epsilon"},
      {"typical {delta: -0.001}", "delta"},
      {"typical {next: drawn}", "next"},
      {"lenience {lenience: 0}", "lenience"},
      {"lenience {lenience: 1.001}", "lenience"},
      {"lenience {form: greedy}", "form"},
      {"multi_round {order: sorted}", "order"},
      {"bild {rollback: -0.001}", "rollback"},
      {"bild {next: drawn}", "next"},
      {"top_beta {beta: 0}", "beta"},
      {"top_beta {tolerance: -0.001}", "tolerance"},
      {"blockwise_top_k {k: 0}", "k"},
      {"blockwise_top_k {next: drawn}", "next"},
      {"blockwise_distance {epsilon: -1}", "epsilon"},
      {"blockwise_distance {next: drawn}", "next"},
  };
  for (const auto& [spec, key] : kCases) {
    const absl::Status status = Build(spec);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << spec;
    EXPECT_THAT(std::string(status.message()), testing::HasSubstr(key));
    EXPECT_THAT(std::string(status.message()), testing::HasSubstr("must"));
  }
}

}  // namespace
}  // namespace banyan
