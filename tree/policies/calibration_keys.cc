#include "tree/policies/calibration_keys.h"

#include <cmath>
#include <cstddef>
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
  int tokens = 0;
  in.Optional("tokens", tokens);
  in.Ensure(tokens >= 0, "tokens", "must not be negative");
}

// Whether the shares are those of the hits, as far as they are written.
bool AreOf(const Shares& shares, const std::vector<int>& hits, int trials) {
  // `banyan calibrate` writes four places: half of the last, and room for the
  // rounding of the product.
  constexpr double kWritten = 5.1e-5;
  if (hits.size() != shares.size()) return false;
  for (std::size_t i = 0; i < hits.size(); ++i)
    if (!(std::abs(hits[i] - shares[i] * trials) <= kWritten * trials))
      return false;
  return true;
}

// The counts that `acceptance` was computed from.
void CheckAccepted(ParamsReader& in, const Shares& acceptance) {
  int nodes = 0;
  const bool has_nodes = in.Optional("nodes", nodes);
  in.Ensure(nodes >= 0, "nodes", "must not be negative");
  std::vector<int> accepted;
  const bool has_accepted = in.Optional("accepted", accepted);
  in.Ensure(absl::c_all_of(accepted, [](int count) { return count >= 0; }),
            "accepted", "must be numbers that are not negative");
  if (!has_nodes || !has_accepted || acceptance.empty() || !in.ok()) return;
  in.Ensure(AreOf(acceptance, accepted, nodes), "accepted",
            "must be, rank by rank, `acceptance` times `nodes`");
}

// The counts that `accuracies` were computed from.
void CheckHits(ParamsReader& in, const std::vector<Shares>& accuracies) {
  std::vector<int> positions;
  const bool has_positions = in.Optional("positions", positions);
  in.Ensure(absl::c_all_of(positions, [](int count) { return count >= 0; }),
            "positions", "must be numbers that are not negative");
  std::vector<std::vector<int>> hits;
  const bool has_hits = in.Optional("hits", hits);
  if (!has_positions || !has_hits || accuracies.empty() || !in.ok()) return;
  bool agree =
      hits.size() == accuracies.size() && hits.size() == positions.size();
  for (std::size_t head = 0; agree && head < hits.size(); ++head)
    agree = AreOf(accuracies[head], hits[head], positions[head]);
  in.Ensure(agree, "hits",
            "must be, head by head, `accuracies` times `positions`");
}

void CheckShares(ParamsReader& in) {
  Shares acceptance;
  in.Optional("acceptance", acceptance);
  CheckAccepted(in, acceptance);
  std::vector<Shares> accuracies;
  in.Optional("accuracies", accuracies);
  CheckHits(in, accuracies);
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
