#include "tree/policies/joint_keys.h"

#include <algorithm>

#include "core/base/common.h"
#include "tree/optimize/cost_curve.h"
#include "tree/policies/bounds.h"

namespace banyan {

absl::StatusOr<JointModel> ReadJoint(ParamsReader& in,
                                     const JointSection& section) {
  EnsureDraws(in, "nodes", section.nodes);
  const Params* const target_ms = in.Take("target_ms");
  in.Ensure(target_ms != nullptr, "target_ms",
            "is missing: the measured milliseconds of a target pass by its "
            "tokens (`target_ms: measured`, or a file of `banyan measure`)");
  in.Ensure(!section.alone.empty(), "alone",
            "is missing: the measured acceptance of each drafter (`target_ms: "
            "measured`, or a file of `banyan measure`)");
  BANYAN_RETURN_IF_ERROR(in.Finish());
  const auto wrong = [&](const absl::Status& status) {
    return in.section().Error(absl::StrCat(in.what(), ": ", status.message()));
  };
  if (const absl::Status status =
          JointAcceptance::Check(section.alone, section.together,
                                 section.agree_right, section.agree_wrong);
      !status.ok())
    return wrong(status);
  JointModel model = {
      .nodes = section.nodes,
      .levels = section.levels,
      .acceptance = JointAcceptance(section.alone, section.together,
                                    section.agree_right, section.agree_wrong),
      .draft_ms = section.draft_ms};
  if (model.draft_ms.size() != section.alone.size() ||
      !std::all_of(model.draft_ms.begin(), model.draft_ms.end(),
                   [](double ms) { return ms >= 0 && ms < 1e9; }))
    return wrong(absl::InvalidArgumentError(
        "draft_ms: expected the milliseconds of a level of each drafter"));
  BANYAN_ASSIGN_OR_RETURN(const CostCurve curve,
                          CostCurve::FromParams("target_ms", *target_ms));
  for (double& ms : model.draft_ms) ms /= section.batch;
  for (int nodes = 0; nodes <= section.nodes; ++nodes) {
    const absl::StatusOr<double> ms = curve.At((nodes + 1) * section.batch);
    if (!ms.ok()) return wrong(ms.status());
    model.target_ms.push_back(*ms / section.batch);
  }
  return model;
}

}  // namespace banyan
