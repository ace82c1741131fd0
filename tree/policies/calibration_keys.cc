#include "tree/policies/calibration_keys.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "core/base/counted.h"
#include "core/base/params.h"
#include "tree/draft_tree.h"

namespace banyan {
namespace {

using Shares = std::vector<double>;

// NaN is none.
bool AreShares(const Shares& shares) {
  return absl::c_all_of(shares,
                        [](double share) { return share >= 0 && share <= 1; });
}

void CheckTexts(ParamsReader& in) {
  for (const char* key : {"drafter", "verifier"}) {
    std::string name = "any";
    in.Optional(key, name);
    in.Ensure(!name.empty(), key, "must be a name");
  }
  std::string law(Name(DrawKind::kIndependent));
  in.Optional("draws", law);
  const auto has_name = [&law](DrawKind each) { return Name(each) == law; };
  in.Ensure(absl::c_any_of(kDrawKinds, has_name), "draws",
            absl::StrCat("must be one of ",
                         absl::StrJoin(kDrawKinds, ", ",
                                       [](std::string* out, DrawKind each) {
                                         absl::StrAppend(out, Name(each));
                                       })));
}

void CheckCounts(ParamsReader& in) {
  for (const char* key : {"temperature", "draft_ms"}) {
    double number = 0;
    in.Optional(key, number);
    in.Ensure(number >= 0, key, "must not be negative");
  }
  for (const char* key : {"tokens", "nodes"}) {
    int count = 0;
    in.Optional(key, count);
    in.Ensure(count >= 0, key, "must not be negative");
  }
  for (const char* key : {"accepted", "positions"}) {
    std::vector<int> counts;
    in.Optional(key, counts);
    in.Ensure(absl::c_all_of(counts, [](int count) { return count >= 0; }), key,
              "must be numbers that are not negative");
  }
  std::vector<std::vector<int>> hits;
  in.Optional("hits", hits);
}

void CheckShares(ParamsReader& in) {
  Shares acceptance;
  in.Optional("acceptance", acceptance);
  std::vector<Shares> accuracies;
  in.Optional("accuracies", accuracies);
  for (const char* key : {"acceptance_low", "acceptance_high"}) {
    Shares bound;
    if (!in.Optional(key, bound) || !in.ok()) continue;
    in.Ensure(AreShares(bound), key, "must be shares from 0 to 1");
    in.Ensure(bound.size() == acceptance.size(), key,
              absl::StrCat("must have ",
                           Counted(static_cast<std::int64_t>(acceptance.size()),
                                   "number"),
                           ", as acceptance has"));
  }
}

}  // namespace

absl::Status CheckCalibration(const Params& calibration) {
  ParamsReader in(calibration, "calibration");
  CheckTexts(in);
  CheckCounts(in);
  CheckShares(in);
  for (const CalibrationKey& key : kCalibrationKeys) in.Take(key.name);
  return in.Finish();
}

}  // namespace banyan
